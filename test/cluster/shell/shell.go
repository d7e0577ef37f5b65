// Package shell predicts what a container's command would do, without running
// it. The node has no container runtime, yet jobs must finish, fail or hang as
// their manifests say; so the few commands that test manifests use (sleep,
// exit, echo and sh -c over them) are read and turned into a run time and an
// exit code.
//
// The law: prediction is a pure function of the command line and the
// environment. What it does not understand it says so (Known is false) and
// leaves the choice to the caller.
package shell

import (
	"path"
	"strconv"
	"strings"
	"time"
)

// Outcome is the predicted fate of one command.
type Outcome struct {
	// Known is false when some part of the command was not understood; Runs
	// and Code then hold for the part that was.
	Known bool
	// NotFound says that the program cannot be started at all.
	NotFound bool
	// Forever says that the command does not end by itself.
	Forever bool
	// Runs is the time until exit (zero or more).
	Runs time.Duration
	// Code is the exit code, 0 to 255.
	Code int32
}

// Interpret predicts a command line; env supplies $(NAME), $NAME and ${NAME}.
func Interpret(argv []string, env map[string]string) Outcome {
	if len(argv) == 0 {
		return Outcome{}
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = expandReferences(w, env)
	}
	if !startable(words[0]) {
		return Outcome{Known: true, NotFound: true, Code: 128}
	}
	if isShell(words[0]) {
		script, errexit, ok := scriptOf(words[1:])
		if !ok {
			return Outcome{}
		}
		return runScript(script, errexit, env)
	}
	st := state{known: true, env: env}
	st.run(words)
	return st.outcome()
}

// startable tells the programs that no image has: shell built-ins given as a
// program, and paths whose name says that they are bad.
func startable(program string) bool {
	return program != "exit" && !strings.HasPrefix(program, "/bad-command") &&
		!strings.Contains(program, "nonexistent")
}

func isShell(program string) bool {
	switch path.Base(program) {
	case "sh", "bash", "ash", "dash":
		return true
	}
	return false
}

// scriptOf finds the script among a shell's arguments: the first word that is
// no flag, given that some flag group holds c.
func scriptOf(args []string) (script string, errexit, ok bool) {
	command := false
	for _, a := range args {
		if len(a) > 1 && a[0] == '-' {
			command = command || strings.Contains(a, "c")
			errexit = errexit || strings.Contains(a, "e")
			continue
		}
		return a, errexit, command
	}
	return "", false, false
}

// expandReferences replaces the $(NAME) form, which Kubernetes itself expands.
func expandReferences(s string, env map[string]string) string {
	for name, value := range env {
		s = strings.ReplaceAll(s, "$("+name+")", value)
	}
	return s
}

// seconds reads sleep's arguments, which add up: 3, 0.5, 2m, infinity.
func seconds(args []string) (total time.Duration, forever, ok bool) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	for _, a := range args {
		if a == "infinity" || a == "inf" {
			return 0, true, true
		}
		unit := time.Second
		if n := len(a); n > 1 && units[a[n-1]] != 0 {
			unit, a = units[a[n-1]], a[:n-1]
		}
		v, err := strconv.ParseFloat(a, 64)
		if err != nil || v < 0 {
			return 0, false, false
		}
		total += time.Duration(v * float64(unit))
	}
	return total, false, len(args) > 0
}
