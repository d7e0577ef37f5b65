package operator

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// The levels below Info are those of logr, turned round: debug shows what each
// pass did, trace what the libraries do as well.
const (
	levelDebug = slog.LevelInfo - 1
	levelTrace = slog.LevelInfo - 10
)

// level reads the name of a log level.
func level(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "panic", "fatal", "error":
		return slog.LevelError, nil
	case "warn", "warning":
		return slog.LevelWarn, nil
	case "info":
		return slog.LevelInfo, nil
	case "debug":
		return levelDebug, nil
	case "trace":
		return levelTrace, nil
	}
	return 0, fmt.Errorf("--loglevel=%s: panic, fatal, error, warn, info, debug or trace", name)
}

// newLogger makes the logger of the process and directs the Kubernetes client
// libraries to it.
func newLogger(ctx context.Context, o *Options, w io.Writer) (logr.Logger, error) {
	l, err := level(o.LogLevel)
	if err != nil {
		return logr.Logger{}, err
	}
	opts := &slog.HandlerOptions{Level: l, ReplaceAttr: nameLevel}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if o.LogFormat == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	log := logr.FromSlogHandler(calm{h, ctx})
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Set("v", strconv.Itoa(o.KlogLevel)); err != nil {
		return logr.Logger{}, fmt.Errorf("--kloglevel: %w", err)
	}
	klog.SetLogger(log.WithName("client"))
	return log, nil
}

// calm takes the alarm out of one message: when a process that was told to stop
// has given its lease back, the manager reports the lease as lost.
type calm struct {
	slog.Handler
	running context.Context
}

// Handle implements slog.Handler.
func (c calm) Handle(ctx context.Context, r slog.Record) error {
	if c.running.Err() != nil && r.Level >= slog.LevelError && strings.HasPrefix(r.Message, "error received after stop") {
		r.Level = levelDebug
		if !c.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (c calm) WithAttrs(attrs []slog.Attr) slog.Handler {
	return calm{c.Handler.WithAttrs(attrs), c.running}
}

// WithGroup implements slog.Handler.
func (c calm) WithGroup(name string) slog.Handler { return calm{c.Handler.WithGroup(name), c.running} }

// nameLevel writes levels by the names that the flag knows.
func nameLevel(groups []string, a slog.Attr) slog.Attr {
	l, ok := a.Value.Any().(slog.Level)
	if !ok || len(groups) > 0 || a.Key != slog.LevelKey {
		return a
	}
	switch {
	case l >= slog.LevelError:
		return slog.String(a.Key, "error")
	case l >= slog.LevelWarn:
		return slog.String(a.Key, "warn")
	case l >= slog.LevelInfo:
		return slog.String(a.Key, "info")
	case l >= levelDebug:
		return slog.String(a.Key, "debug")
	}
	return slog.String(a.Key, "trace")
}
