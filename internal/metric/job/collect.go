package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/api/v1alpha1"
	"github.com/sluice-project/sluice/internal/metric"
)

// Collect implements metric.Collector. Of the Jobs of this metric the last keep
// stay, and so does each one that has not ended.
func (p *Provider) Collect(ctx context.Context, q metric.Question, keep int32) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var list batchv1.JobList
	err := p.options.Client.List(ctx, &list, client.InNamespace(p.namespace(q)), client.MatchingLabels{v1alpha1.LabelAnalysisRunUID: q.UID})
	if err != nil {
		return fmt.Errorf("list the Jobs of the run: %w", err)
	}
	var mine []*batchv1.Job
	for i := range list.Items {
		if ours(&list.Items[i], q) {
			mine = append(mine, &list.Items[i])
		}
	}
	slices.SortFunc(mine, func(a, b *batchv1.Job) int {
		return cmp.Or(cmp.Compare(number(a.Name), number(b.Name)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var problems []error
	for _, j := range mine[:max(len(mine)-int(max(keep, 0)), 0)] {
		if _, ended := judge(j); ended && j.DeletionTimestamp == nil {
			problems = append(problems, p.remove(ctx, j, metav1.DeletePropagationBackground))
		}
	}
	return errors.Join(problems...)
}

// number is the number of the measurement, by the name of its Job.
func number(name string) int {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '.')+1:])
	if err != nil {
		return 0
	}
	return n
}
