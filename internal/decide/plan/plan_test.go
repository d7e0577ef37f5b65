package plan

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAPlanCanBeWrittenAndReadBack(t *testing.T) {
	three, ten := int32(3), int32(10)
	type status struct {
		Phase string `json:"phase"`
	}
	in := Plan[status]{
		Own: &OwnPatch{Replicas: &three, Annotations: []Pair{{Key: "a", Value: "b"}}, Why: "why"}, Status: status{"Paused"}, WriteStatus: true,
		Actions: Actions{
			CreateReplicaSet{Name: "web-1", Hash: "1", Annotations: []Pair{{Key: "k", Value: "v"}}, Why: "new"},
			PatchReplicaSet{Ref: Ref{Kind: KindReplicaSet, Name: "web-0", UID: "u", Version: "7"}, Replicas: &ten, From: 2, Why: "up"},
			PatchReplicaSet{Ref: Ref{Kind: KindReplicaSet, Name: "web-0"}, Adopt: true, Annotations: []Pair{{Key: "k", Remove: true}}, Why: "ours"},
			DeleteReplicaSet{Ref: Ref{Kind: KindReplicaSet, Name: "web-9"}, Why: "old"},
			EvictPod{Ref: Ref{Kind: KindPod, Name: "p"}, Why: "restart"},
			SwitchService{Ref: Ref{Kind: KindService, Name: "s"}, From: "0", To: "1", ManagedBy: "web", Why: "ready"},
		},
		Notes:   []Note{{Rank: RankScaling, Reason: "ScalingReplicaSet", Message: "m", After: 2}},
		Waiting: &Waiting{For: "pods", Since: time.Unix(5, 0).UTC(), On: &Ref{Kind: KindPod, Name: "p"}},
		Wake:    time.Unix(9, 0).UTC(),
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out Plan[status]
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
	again, _ := json.Marshal(out)
	if string(again) != string(data) {
		t.Errorf("written twice:\n%s\n%s", data, again)
	}
}

func TestAnUnknownVerbIsRefused(t *testing.T) {
	var a Actions
	if err := json.Unmarshal([]byte(`[{"verb":"explode","action":{}}]`), &a); err == nil {
		t.Error("accepted")
	}
}
