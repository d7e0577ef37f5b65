package plan

import (
	"encoding/json"
	"fmt"
)

// envelope is an action with the name of its verb, as written in records.
type envelope struct {
	Verb   string          `json:"verb"`
	Action json.RawMessage `json:"action"`
}

// Verb names the kind of write that an action is.
func Verb(a Action) string {
	switch a := a.(type) {
	case CreateReplicaSet:
		return "create"
	case PatchReplicaSet:
		if a.Replicas != nil {
			return "scale"
		}
		return "patch"
	case DeleteReplicaSet:
		return "delete"
	case EvictPod:
		return "evict"
	case SwitchService:
		return "switch"
	case SetRouting:
		return "route"
	case LeaveRouter:
		return "leave"
	case CreateChild:
		return "begin"
	case EndChild:
		return "end"
	case MarkChild:
		return "mark"
	case DeleteChild:
		return "remove"
	}
	return "unknown"
}

func empty(verb string) any {
	switch verb {
	case "create":
		return &CreateReplicaSet{}
	case "scale", "patch":
		return &PatchReplicaSet{}
	case "delete":
		return &DeleteReplicaSet{}
	case "evict":
		return &EvictPod{}
	case "switch":
		return &SwitchService{}
	case "route":
		return &SetRouting{}
	case "leave":
		return &LeaveRouter{}
	case "begin":
		return &CreateChild{}
	case "end":
		return &EndChild{}
	case "mark":
		return &MarkChild{}
	case "remove":
		return &DeleteChild{}
	}
	return nil
}

func value(p any) Action {
	switch a := p.(type) {
	case *CreateReplicaSet:
		return *a
	case *PatchReplicaSet:
		return *a
	case *DeleteReplicaSet:
		return *a
	case *EvictPod:
		return *a
	case *SwitchService:
		return *a
	case *SetRouting:
		return *a
	case *LeaveRouter:
		return *a
	case *CreateChild:
		return *a
	case *EndChild:
		return *a
	case *MarkChild:
		return *a
	case *DeleteChild:
		return *a
	}
	return nil
}

// Actions is the ordered list of writes; it can be written as JSON and read back.
type Actions []Action

// MarshalJSON writes each action with its verb.
func (list Actions) MarshalJSON() ([]byte, error) {
	out := make([]envelope, len(list))
	for i, a := range list {
		body, err := json.Marshal(a)
		if err != nil {
			return nil, err
		}
		out[i] = envelope{Verb(a), body}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote; a verb it does not know is an error.
func (list *Actions) UnmarshalJSON(data []byte) error {
	var in []envelope
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	out := make(Actions, 0, len(in))
	for i, e := range in {
		p := empty(e.Verb)
		if p == nil {
			return fmt.Errorf("actions[%d].verb: %q is no verb that a plan knows", i, e.Verb)
		}
		if err := json.Unmarshal(e.Action, p); err != nil {
			return fmt.Errorf("actions[%d].action: %w", i, err)
		}
		out = append(out, value(p))
	}
	*list = out
	return nil
}
