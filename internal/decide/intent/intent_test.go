package intent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	at := func(i int32) *int32 { return &i }
	for name, c := range map[string]struct {
		written, stored Fields
		want            []Intent
	}{
		"an echo is no command": {
			Fields{Abort: true, Paused: true, Step: at(2)}, Fields{Abort: true, Paused: true, Step: at(2)}, nil},
		"abort set by a user": {
			Fields{Step: at(2)}, Fields{Abort: true, Step: at(2)}, []Intent{{Kind: Abort}}},
		"abort outranks what came with it": {
			Fields{Paused: true, Step: at(2)}, Fields{Abort: true, PromoteFull: true, Step: at(3)}, []Intent{{Kind: Abort}}},
		"abort taken back is a retry": {
			Fields{Abort: true, Step: at(0)}, Fields{Step: at(0)}, []Intent{{Kind: Retry}}},
		"pause conditions removed": {
			Fields{Paused: true, Step: at(1)}, Fields{Step: at(1)}, []Intent{{Kind: Resume}}},
		"index raised with the pause removed moves once": {
			Fields{Paused: true, Step: at(1)}, Fields{Step: at(2)}, []Intent{{Kind: Skip, Step: 2}}},
		"full promotion": {
			Fields{Step: at(1)}, Fields{PromoteFull: true, Step: at(1)}, []Intent{{Kind: PromoteFull}}},
		"full promotion of an aborted release ends the abort": {
			Fields{Abort: true, Step: at(0)}, Fields{Abort: true, PromoteFull: true, Step: at(0)}, []Intent{{Kind: PromoteFull}}},
	} {
		if diff := cmp.Diff(c.want, Read(c.written, c.stored)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
