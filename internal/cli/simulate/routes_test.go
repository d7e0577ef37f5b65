package simulate

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/sluice-project/sluice/internal/cli/session"
)

// TestTheRoutedExampleIsRehearsed plays a manifest whose route has its weights
// written out, as those of people do.
func TestTheRoutedExampleIsRehearsed(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    []string
	}{
		"a good image takes all of the traffic": {
			Options{Images: []string{"web=nginx:1.28-alpine"}, Expect: "Healthy"},
			[]string{"patch HTTPRoute web for weight 80", "revision 2 100%"},
		},
		"an abort gives it back": {
			Options{Images: []string{"web=nginx:1.28-alpine"}, At: []string{"20s=abort"}, Expect: "Degraded"},
			[]string{"patch HTTPRoute web for weight 40", "revision 1 100%"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := tc.options
			o.Files, o.Output = []string{"../../../examples/web-gateway.yaml"}, "text"
			o.Session = &session.Session{IOStreams: genericclioptions.IOStreams{Out: &out}, Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }}
			if err := Run(context.Background(), &o); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in\n%s", want, out.String())
				}
			}
		})
	}
}
