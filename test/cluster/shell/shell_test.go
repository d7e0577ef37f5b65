package shell

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestInterpret(t *testing.T) {
	env := map[string]string{"N": "4", "CODE": "3"}
	sh := func(script string) []string { return []string{"sh", "-c", script} }
	for name, c := range map[string]struct {
		argv []string
		want Outcome
	}{
		"no command is unknown":            {nil, Outcome{}},
		"a server is unknown":              {[]string{"nginx", "-g", "daemon off;"}, Outcome{}},
		"sleep runs its time":              {[]string{"sleep", "10"}, Outcome{Known: true, Runs: 10 * time.Second}},
		"sleep takes fractions":            {[]string{"/bin/sleep", "0.5"}, Outcome{Known: true, Runs: 500 * time.Millisecond}},
		"sleep takes units and adds them":  {[]string{"sleep", "1m", "2s"}, Outcome{Known: true, Runs: 62 * time.Second}},
		"sleep without a time fails":       {[]string{"sleep"}, Outcome{Known: true, Code: 1}},
		"sleep infinity does not end":      {[]string{"sleep", "infinity"}, Outcome{Known: true, Forever: true}},
		"exit is no program":               {[]string{"exit", "1"}, Outcome{Known: true, NotFound: true, Code: 128}},
		"a bad path is no program":         {[]string{"/bad-command2"}, Outcome{Known: true, NotFound: true, Code: 128}},
		"false fails":                      {[]string{"false"}, Outcome{Known: true, Code: 1}},
		"a script sleeps and then exits":   {[]string{"sh", "-c", "-x", "sleep 30 && exit 1"}, Outcome{Known: true, Runs: 30 * time.Second, Code: 1}},
		"flags may be joined":              {[]string{"/bin/bash", "-xc", "sleep 1; exit 2"}, Outcome{Known: true, Runs: time.Second, Code: 2}},
		"a script that exits":              {sh("exit 0"), Outcome{Known: true}},
		"a script that speaks":             {sh(`echo "hello; exit 5"`), Outcome{Known: true}},
		"a line ends a command":            {sh("sleep 1\nsleep 2\nexit 7"), Outcome{Known: true, Runs: 3 * time.Second, Code: 7}},
		"and stops at a failure":           {sh("false && sleep 9"), Outcome{Known: true, Code: 1}},
		"or runs after a failure":          {sh("false || sleep 2"), Outcome{Known: true, Runs: 2 * time.Second}},
		"or is skipped after a success":    {sh("true || exit 4"), Outcome{Known: true}},
		"and at a line's end joins":        {sh("true &&\nexit 4"), Outcome{Known: true, Code: 4}},
		"without -e a failure is ignored":  {sh("false; sleep 1"), Outcome{Known: true, Runs: time.Second}},
		"with -e a failure ends it":        {[]string{"sh", "-ec", "false; sleep 1"}, Outcome{Known: true, Code: 1}},
		"with -e a guarded failure is not": {[]string{"sh", "-ec", "false || true; sleep 1"}, Outcome{Known: true, Runs: time.Second}},
		"a comment is skipped":             {sh("# exit 1\nexit 2 # exit 3"), Outcome{Known: true, Code: 2}},
		"an endless loop does not end":     {sh("while true; do sleep 1; done"), Outcome{Known: true, Forever: true}},
		"exec changes nothing":             {sh("exec sleep 3"), Outcome{Known: true, Runs: 3 * time.Second}},
		"an assignment is skipped":         {sh("X=1 sleep 3"), Outcome{Known: true, Runs: 3 * time.Second}},
		"an unknown part taints a script":  {sh("wget -q http://x && sleep 2"), Outcome{Runs: 2 * time.Second}},
		"kubernetes references are read":   {[]string{"sleep", "$(N)"}, Outcome{Known: true, Runs: 4 * time.Second}},
		"shell variables are read":         {sh("sleep ${N}; exit $CODE"), Outcome{Known: true, Runs: 4 * time.Second, Code: 3}},
		"an exit code is a byte":           {sh("exit 256"), Outcome{Known: true}},
		"a shell without a script":         {[]string{"sh"}, Outcome{}},
		"the empty script succeeds":        {sh(""), Outcome{Known: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Interpret(c.argv, env)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
