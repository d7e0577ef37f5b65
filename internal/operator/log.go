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

// level reads the name of a log level. Each step below Info shows one kind of
// detail more: debug what each pass did, trace what the libraries do.
func level(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "panic", "fatal", "error":
		return slog.LevelError, nil
	case "warn", "warning":
		return slog.LevelWarn, nil
	case "info":
		return slog.LevelInfo, nil
	case "debug":
		return slog.LevelDebug, nil
	case "trace":
		return slog.LevelDebug - 6, nil
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
	opts := &slog.HandlerOptions{Level: l}
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
