package operator

import (
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
func newLogger(o *Options, w io.Writer) (logr.Logger, error) {
	l, err := level(o.LogLevel)
	if err != nil {
		return logr.Logger{}, err
	}
	opts := &slog.HandlerOptions{Level: l, ReplaceAttr: nameLevel}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if o.LogFormat == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	log := logr.FromSlogHandler(h)
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Set("v", strconv.Itoa(o.KlogLevel)); err != nil {
		return logr.Logger{}, fmt.Errorf("--kloglevel: %w", err)
	}
	klog.SetLogger(log.WithName("client"))
	return log, nil
}

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
