// Package list is the command that lists rollouts or Experiments, one line each.
//
// Law: it only reads; a watch prints a line only when its values have changed.
package list

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/cli/live"
	"github.com/sluice-project/sluice/internal/cli/paint"
	"github.com/sluice-project/sluice/internal/cli/session"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gather is how long changes are gathered before they are printed.
const gather = 500 * time.Millisecond

// Options are what the user asked for.
type Options struct {
	Session       *session.Session
	Only          string
	AllNamespaces bool
	Watch         bool
	Timestamps    bool
}

// New makes the command with its children; run nil means Run.
func New(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	return session.Parent("list COMMAND", "List rollouts or Experiments", newRollouts(s, run), newExperiments(s, nil))
}

func newRollouts(s *session.Session, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = Run
	}
	o := &Options{Session: s}
	cmd := &cobra.Command{
		Use:     "rollouts",
		Aliases: []string{"ro", "rollout"},
		Short:   "List rollouts",
		Example: s.Examples(
			"# List rollouts of the current namespace",
			"{{program}} list rollouts",
			"",
			"# Follow those of all namespaces",
			"{{program}} list rollouts --all-namespaces --watch"),
		Args: session.Exactly(0),
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.Only, "name", "", "List only the rollout of this name")
	f.BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "List the rollouts of all namespaces")
	f.BoolVarP(&o.Watch, "watch", "w", false, "Go on and print each change")
	f.BoolVar(&o.Timestamps, "timestamps", false, "Print the time of each line")
	return cmd
}

// Run lists.
func Run(ctx context.Context, o *Options) error {
	ns, err := o.Session.Namespace()
	if err != nil {
		return err
	}
	c, err := o.Session.Client()
	if err != nil {
		return err
	}
	options := client.ListOptions{Namespace: ns}
	if o.AllNamespaces {
		options.Namespace = ""
	}
	if o.Only != "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", o.Only)
	}
	out := &printer{session: o.Session, list: paint.List{Columns: paint.Columns{Timestamp: o.Timestamps, Namespace: o.AllNamespaces}}}
	if o.Watch {
		return follow(ctx, out, live.New(ctx, c, map[string]client.ListOptions{"Rollout": options}))
	}
	list := &v1alpha1.RolloutList{}
	if err := c.List(ctx, list, &options); err != nil {
		return session.Explain(err)
	}
	if len(list.Items) == 0 {
		fmt.Fprintln(o.Session.ErrOut, "No resources found.")
		return nil
	}
	out.print(list.Items)
	return nil
}

func follow(ctx context.Context, out *printer, mirror *live.Mirror) error {
	for {
		list := &v1alpha1.RolloutList{}
		if err := mirror.List(ctx, list); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return session.Explain(err)
		}
		out.print(list.Items)
		rest := time.NewTimer(gather)
		select {
		case <-ctx.Done():
			return nil
		case <-rest.C:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-mirror.Changes():
		}
	}
}

// printer prints the header once and a row whenever it differs from its last.
type printer struct {
	session *session.Session
	list    paint.List
	started bool
	printed map[types.NamespacedName]paint.Row
}

func (p *printer) print(items []v1alpha1.Rollout) {
	slices.SortFunc(items, func(a, b v1alpha1.Rollout) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if !p.started {
		p.started, p.printed = true, map[types.NamespacedName]paint.Row{}
		p.list.Header()
	}
	for i := range items {
		key := client.ObjectKeyFromObject(&items[i])
		row := paint.RowOf(&items[i])
		if last, ok := p.printed[key]; ok && last == row {
			continue
		}
		p.printed[key] = row
		p.list.Add(row, p.session.Now())
	}
	fmt.Fprint(p.session.Out, p.list.Flush())
}
