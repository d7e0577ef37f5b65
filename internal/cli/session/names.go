package session

import (
	"context"
	"strings"
	"time"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RolloutNames completes the first argument with names of rollouts.
func (s *Session) RolloutNames(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.names(cmd, args, typed, &v1alpha1.RolloutList{})
}

// AnalysisRunNames completes the first argument with names of AnalysisRuns.
func (s *Session) AnalysisRunNames(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.names(cmd, args, typed, &v1alpha1.AnalysisRunList{})
}

// ExperimentNames completes the first argument with names of Experiments.
func (s *Session) ExperimentNames(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.names(cmd, args, typed, &v1alpha1.ExperimentList{})
}

// names completes the first argument with what is in the current namespace.
func (s *Session) names(cmd *cobra.Command, args []string, typed string, list client.ObjectList) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, key, err := s.Target("")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := c.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	// A list of this API always has items with metadata.
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		if obj, ok := o.(client.Object); ok && strings.HasPrefix(obj.GetName(), typed) {
			names = append(names, obj.GetName())
		}
		return nil
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
