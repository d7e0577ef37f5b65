package model

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-project/sluice/internal/decide/plan"
	"github.com/sluice-project/sluice/internal/simulate/store"
)

// collect deletes, after a delay, what only the gone object owned.
func (c *Cluster) collect(gone client.Object) {
	uid := gone.GetUID()
	c.gone[uid] = true
	if len(c.Store.Owned(uid)) == 0 {
		return
	}
	c.Line.After(c.delay(c.opts.Delay), func() {
		for _, o := range c.Store.Owned(uid) {
			if !c.ownerless(o) || o.GetDeletionTimestamp() != nil {
				continue
			}
			_ = c.writer.Delete(c.ctx(), dup(o)) // gone already is as good
		}
	})
}

// ownerless tells whether all owners that an object names are gone.
func (c *Cluster) ownerless(o client.Object) bool {
	for _, r := range o.GetOwnerReferences() {
		if !c.gone[r.UID] {
			return false
		}
	}
	return true
}

// finalize carries on a deletion that waits for dependents.
func (c *Cluster) finalize(e *store.Event) {
	key, uid, kind := e.Key, e.New.GetUID(), e.Kind
	c.Line.After(c.delay(c.opts.Delay), func() {
		cur := c.Store.Peek(kind, key)
		if cur == nil || cur.GetUID() != uid {
			return
		}
		switch {
		case slices.Contains(cur.GetFinalizers(), metav1.FinalizerOrphanDependents):
			c.orphan(uid)
			c.release(cur, metav1.FinalizerOrphanDependents)
		case slices.Contains(cur.GetFinalizers(), metav1.FinalizerDeleteDependents):
			c.drain(e, cur)
		}
	})
}

func (c *Cluster) orphan(uid types.UID) {
	for _, o := range c.Store.Owned(uid) {
		next := dup(o)
		next.SetOwnerReferences(slices.DeleteFunc(next.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == uid }))
		_ = c.writer.Update(c.ctx(), next) // the next round sees a lost race
	}
}

func (c *Cluster) drain(e *store.Event, cur client.Object) {
	left := c.Store.Owned(cur.GetUID())
	if len(left) == 0 {
		c.release(cur, metav1.FinalizerDeleteDependents)
		return
	}
	for _, o := range left {
		if o.GetDeletionTimestamp() == nil {
			_ = c.writer.Delete(c.ctx(), dup(o), client.PropagationPolicy(metav1.DeletePropagationForeground))
		}
	}
	c.finalize(e)
}

func (c *Cluster) release(o client.Object, finalizer string) {
	next := dup(o)
	next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == finalizer }))
	_ = c.writer.Update(c.ctx(), next)
}

func dup(o client.Object) client.Object { return o.DeepCopyObject().(client.Object) }

// wakeBudgets brings the status of all disruption budgets up to date, soon.
func (c *Cluster) wakeBudgets() {
	key := types.NamespacedName{Name: "budgets"}
	if c.pending[key] {
		return
	}
	c.pending[key] = true
	c.Line.After(c.delay(c.opts.Delay), func() {
		delete(c.pending, key)
		for _, o := range c.Store.All(plan.KindPDB) {
			pdb := *o.(*policyv1.PodDisruptionBudget)
			pdb.Status = c.Store.Disruptions(&pdb)
			_ = c.writer.Status().Update(c.ctx(), &pdb)
		}
	})
}
