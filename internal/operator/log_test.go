package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestLogLines(t *testing.T) {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	const late = "error received after stop sequence was engaged"
	tests := map[string]struct {
		ctx   context.Context
		level string
		want  []string // levels of the lines, in order
	}{
		"info hides detail":                         {context.Background(), "info", []string{"info", "error", "error"}},
		"debug shows what each pass did":            {context.Background(), "debug", []string{"info", "debug", "error", "error"}},
		"trace shows what the libraries do":         {context.Background(), "trace", []string{"info", "debug", "trace", "error", "error"}},
		"error hides the rest":                      {context.Background(), "error", []string{"error", "error"}},
		"a lease given back at the end is no error": {stopped, "info", []string{"info", "error"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := NewOptions()
			o.LogLevel = tc.level
			log, err := newLogger(tc.ctx, o, &out)
			if err != nil {
				t.Fatal(err)
			}
			log = log.WithName("x").WithValues("rollout", "web")
			log.Info("i")
			log.V(1).Info("d")
			log.V(5).Info("t")
			log.Error(errors.New("x"), "e")
			log.Error(errors.New("leader election lost"), late)
			var got []string
			for line := range strings.Lines(out.String()) {
				var l struct{ Level, Rollout string }
				if err := json.Unmarshal([]byte(line), &l); err != nil || l.Rollout != "web" {
					t.Fatalf("%s: %v", line, err)
				}
				got = append(got, l.Level)
			}
			if strings.Join(got, " ") != strings.Join(tc.want, " ") {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
