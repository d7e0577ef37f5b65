package operator

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	o := NewOptions()
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.SetOutput(new(strings.Builder))
	o.AddFlags(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFlags(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string // part of the refusal, empty for none
	}{
		"no flags": {},
		"the flags of a usual manifest": {args: []string{"--namespaced", "--instance-id", "a", "--rollout-threads=20", "--rollout-resync=60",
			"--qps=100", "--burst=200", "--metricsPort=9090", "--healthzPort=9091", "--loglevel=debug", "--logformat=text",
			"--kloglevel=2", "--leader-elect=false", "--enable-pprof-address=127.0.0.1:6060", "-n", "prod"}},
		"a later flag at its default": {args: []string{"--experiment-threads=10", "--istio-api-version=v1alpha3", "--alb-ingress-classes=alb",
			"--self-service-notification-enabled=false"}},
		"a deprecated name":                         {args: []string{"--metricsport=9090"}},
		"one kind of controller only":               {args: []string{"--controllers=analysis"}, want: "--controllers=[analysis] is not supported yet"},
		"workers that do not exist":                 {args: []string{"--ingress-threads=5"}, want: "--ingress-threads=5 is not supported yet"},
		"verification at AWS by its old name":       {args: []string{"--alb-verify-weight"}},
		"versions of routers":                       {args: []string{"--istio-api-version=v1", "--traefik-api-version=traefik.containo.us/v1alpha1", "--ambassador-api-version=x.getambassador.io/v3alpha1"}},
		"a version that is none":                    {args: []string{"--istio-api-version=networking/v1"}, want: "--istio-api-version"},
		"a version without its group":               {args: []string{"--aws-target-group-binding-api-version=v1beta1"}, want: "--aws-target-group-binding-api-version"},
		"another ingress class":                     {args: []string{"--nginx-ingress-classes=internal"}},
		"no workers":                                {args: []string{"--rollout-threads=0"}, want: "--rollout-threads=0"},
		"an unknown level":                          {args: []string{"--loglevel=loud"}, want: "--loglevel=loud"},
		"an instance id that is no label":           {args: []string{"--instance-id=a b"}, want: "--instance-id"},
		"one port for two pages":                    {args: []string{"--metricsPort=8080"}, want: "a port each"},
		"a port that is none":                       {args: []string{"--metricsPort=70000"}, want: "--metricsPort=70000"},
		"a lease shorter than its renewal":          {args: []string{"--leader-election-lease-duration=5s"}, want: "--leader-election-lease-duration"},
		"a renewal shorter than a retry":            {args: []string{"--leader-election-renew-deadline=2s"}, want: "--leader-election-renew-deadline"},
		"lease times do not matter without a lease": {args: []string{"--leader-elect=false", "--leader-election-lease-duration=1s"}},
		"a negative pace":                           {args: []string{"--qps=-1"}, want: "--qps"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := parse(t, tc.args...).Validate()
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	t.Run("all that is wrong is told at once", func(t *testing.T) {
		err := parse(t, "--rollout-threads=0", "--controllers=analysis", "--loglevel=x").Validate()
		for _, want := range []string{"rollout-threads", "controllers", "loglevel"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not tell of %s", err, want)
			}
		}
	})
}

func TestInstances(t *testing.T) {
	tests := map[string]struct {
		id     string
		labels labels.Set
		want   bool
	}{
		"without an id, objects without the label":   {"", nil, true},
		"without an id, not those with one":          {"", labels.Set{v1alpha1.LabelInstanceID: "a"}, false},
		"without an id, not those with an empty one": {"", labels.Set{v1alpha1.LabelInstanceID: ""}, false},
		"with an id, objects of that id":             {"a", labels.Set{v1alpha1.LabelInstanceID: "a"}, true},
		"with an id, not those of another":           {"a", labels.Set{v1alpha1.LabelInstanceID: "b"}, false},
		"with an id, not those without":              {"a", nil, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			sel, err := (&Options{InstanceID: tc.id}).instances()
			if err != nil {
				t.Fatal(err)
			}
			if got := sel.Matches(tc.labels); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestNamesOfLeaseAndNamespace(t *testing.T) {
	if got := (&Options{}).leaseName(); got != "argo-rollouts-controller-lock" {
		t.Errorf("lease %q", got)
	}
	if got := (&Options{InstanceID: "x"}).leaseName(); got != "argo-rollouts-controller-lock-x" {
		t.Errorf("lease of an instance %q", got)
	}
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	for name, tc := range map[string]struct {
		env  string
		read func(string) ([]byte, error)
		want string
	}{
		"the environment comes first":   {"a", func(string) ([]byte, error) { return []byte("b"), nil }, "a"},
		"then the mounted account":      {"", func(string) ([]byte, error) { return []byte("b\n"), nil }, "b"},
		"then the usual one":            {"", none, "argo-rollouts"},
		"an empty file is no name":      {"", func(string) ([]byte, error) { return nil, nil }, "argo-rollouts"},
		"an unreadable file is no name": {"", func(string) ([]byte, error) { return nil, errors.New("x") }, "argo-rollouts"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ownNamespace(func(string) string { return tc.env }, tc.read); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
