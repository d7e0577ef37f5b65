// Package session is what every command is given: streams, the connection to the
// cluster, the clock, and the name that the program was called by.
//
// Law: a command touches the world only through its session, so that a test can
// give it another world.
package session

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Session is the world of one run.
type Session struct {
	genericclioptions.IOStreams
	// Flags name the cluster.
	Flags *genericclioptions.ConfigFlags
	// Program is what the user types, e.g. "kubectl argo rollouts"; Binary is the
	// name of the executable.
	Program, Binary string
	// Now is the clock.
	Now func() time.Time
	// Terminal tells whether the output goes to a terminal that knows colours.
	Terminal bool
	// Height is the number of lines of the terminal, 0 when unknown.
	Height func() int
	// Connect makes the client; nil means the cluster that Flags name.
	Connect func() (client.WithWatch, error)
}

// Client connects to the cluster.
func (s *Session) Client() (client.WithWatch, error) {
	if s.Connect != nil {
		return s.Connect()
	}
	if err := s.configured(); err != nil {
		return nil, err
	}
	cfg, err := s.Flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 50, 100
	cfg.UserAgent = s.Binary
	cfg.WarningHandler = rest.NewWarningWriter(s.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	http, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	// The kinds of the commands are few and known, so no discovery is needed before
	// the first call; those of routers are asked for when a rollout names one.
	others, err := apiutil.NewDynamicRESTMapper(cfg, http)
	if err != nil {
		return nil, err
	}
	known := meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{mapper(scheme), others}}
	return client.NewWithWatch(cfg, client.Options{HTTPClient: http, Scheme: scheme, Mapper: known})
}

// Namespace is the one that the flags or the kubeconfig name.
func (s *Session) Namespace() (string, error) {
	ns, _, err := s.Flags.ToRawKubeConfigLoader().Namespace()
	return ns, err
}

// configured tells when nothing names a cluster. The library would then try
// localhost, and its refusal would say nothing of the missing kubeconfig.
func (s *Session) configured() error {
	raw, err := s.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return err
	}
	if len(raw.Clusters) > 0 || given(s.Flags.APIServer) ||
		os.Getenv("KUBERNETES_MASTER") != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return nil
	}
	looked := os.Getenv("KUBECONFIG")
	if given(s.Flags.KubeConfig) {
		looked = *s.Flags.KubeConfig
	}
	if looked == "" {
		looked = clientcmd.RecommendedHomeFile
	}
	return fmt.Errorf("no cluster is configured: %s names none; give a kubeconfig with --kubeconfig or $KUBECONFIG", looked)
}

func given(flag *string) bool { return flag != nil && *flag != "" }

// Target connects and names an object in the current namespace.
func (s *Session) Target(name string) (client.WithWatch, types.NamespacedName, error) {
	ns, err := s.Namespace()
	if err != nil {
		return nil, types.NamespacedName{}, err
	}
	c, err := s.Client()
	return c, types.NamespacedName{Namespace: ns, Name: name}, err
}

// Each asks the same of one object after the other, says what was done to each,
// and stops at the first that fails. The kind is as the user reads it.
func (s *Session) Each(kind string, names []string, done string, ask func(client.WithWatch, types.NamespacedName) error) error {
	for _, name := range names {
		c, key, err := s.Target(name)
		if err != nil {
			return err
		}
		if err := ask(c, key); err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "%s '%s' %s\n", kind, name, done)
	}
	return nil
}

// Scheme knows the kinds that commands read and write.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme, autoscalingv2.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func mapper(scheme *runtime.Scheme) meta.RESTMapper {
	versions := []schema.GroupVersion{v1alpha1.GroupVersion, appsv1.SchemeGroupVersion, corev1.SchemeGroupVersion, policyv1.SchemeGroupVersion,
		autoscalingv2.SchemeGroupVersion}
	m := meta.NewDefaultRESTMapper(versions)
	for _, gv := range versions {
		for kind := range scheme.KnownTypes(gv) {
			scope := meta.RESTScopeNamespace
			if kind == v1alpha1.KindClusterAnalysisTemplate || kind == "Namespace" || kind == "Node" || kind == "PersistentVolume" {
				scope = meta.RESTScopeRoot
			}
			m.Add(gv.WithKind(kind), scope)
		}
	}
	return m
}

// Explain rewords an error of the API server where its own words mislead.
func Explain(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	// A missing object is answered by the resource itself, a missing resource by
	// the server with an answer that the client did not expect.
	details := status.Status().Details
	if apierrors.IsNotFound(err) && details != nil && details.Group == v1alpha1.GroupVersion.Group &&
		slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse }) {
		return errors.New("the cluster does not know Rollouts: the custom resource definitions of argoproj.io are not installed")
	}
	return err
}

// UsageError is a wrong way to call a command: the answer is its usage text.
type UsageError struct {
	Command *cobra.Command
	// Hint, when there is one, is printed before the usage.
	Hint string
}

// Error implements error.
func (e *UsageError) Error() string {
	if e.Hint != "" {
		return e.Hint
	}
	return "usage of " + e.Command.CommandPath()
}

// Exactly wants n arguments.
func Exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return &UsageError{Command: cmd}
		}
		return nil
	}
}

// AtLeastOne wants one or more arguments.
func AtLeastOne(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return &UsageError{Command: cmd}
	}
	return nil
}

// Parent makes a command that only holds others.
func Parent(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			e := &UsageError{Command: cmd}
			if len(args) > 0 {
				e.Hint = fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return e
		},
	}
	cmd.AddCommand(children...)
	return cmd
}

// Examples fills the program's name into example lines.
func (s *Session) Examples(lines ...string) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if l != "" {
			b.WriteString("  " + strings.ReplaceAll(l, "{{program}}", s.Program))
		}
	}
	return b.String()
}
