package act

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestWithin(t *testing.T) {
	t.Run("it ends at its time", func(t *testing.T) {
		ctx, end := Within(context.Background(), time.Millisecond)
		defer end()
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Error(ctx.Err())
		}
	})
	t.Run("it ends with its parent", func(t *testing.T) {
		parent, stop := context.WithCancel(context.Background())
		ctx, end := Within(parent, time.Hour)
		defer end()
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
		stop()
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Error(ctx.Err())
		}
	})
	t.Run("it ends when it is told to, also before anybody waits", func(t *testing.T) {
		ctx, end := Within(context.Background(), time.Hour)
		end()
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Error(ctx.Err())
		}
	})
	t.Run("the nearer deadline counts, and a child keeps it", func(t *testing.T) {
		near, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		want, _ := near.Deadline()
		far, end := Within(near, time.Hour)
		defer end()
		if at, ok := far.Deadline(); !ok || !at.Equal(want) {
			t.Errorf("deadline %v %v", at, ok)
		}
		child, done := context.WithCancel(far)
		defer done()
		end()
		<-child.Done()
	})
}
