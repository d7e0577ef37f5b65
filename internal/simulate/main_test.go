package simulate

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage lie longer: worlds are small, and there are many.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}
