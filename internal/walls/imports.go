// Package walls checks that the code keeps its shape: which package may import
// which, what the decision core may not do, and how large things may grow.
//
// Law: every wall has a reason, and a breach is told with it. A wall is moved by
// a decision record, never to let a change pass.
package walls

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Package is what `go list` tells of a package.
type Package struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// Breach is one wall that is broken.
type Breach struct {
	// Where is a package or a position.
	Where string
	// What is done there that must not be.
	What string
	// Reason is why not.
	Reason string
}

// String is the breach as one line.
func (b Breach) String() string { return fmt.Sprintf("%s: %s: %s", b.Where, b.What, b.Reason) }

// List asks `go list` once for all packages of the module in dir and whatever
// they rest on.
func List(dir string) ([]Package, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	var list []Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the output of go list: %w", err)
		}
		list = append(list, p)
	}
}

// Imports checks a listing against the table.
func Imports(list []Package, rules []Rule, bans []Ban) []Breach {
	byPath := make(map[string]Package, len(list))
	for _, p := range list {
		byPath[p.ImportPath] = p
	}
	var breaches []Breach
	for _, p := range list {
		name, own := ownName(p.ImportPath)
		if !own {
			continue
		}
		rule, ok := ruleFor(name, rules)
		if !ok {
			breaches = append(breaches, Breach{name, "no rule names this package", "a new package gets a line in internal/walls/table.go, with the reason"})
			continue
		}
		for _, imported := range p.Imports {
			if !rule.allows(imported, byPath[imported].Standard) {
				breaches = append(breaches, Breach{name, "imports " + imported, rule.Reason})
			}
		}
	}
	return append(breaches, banned(list, byPath, bans)...)
}

func ruleFor(name string, rules []Rule) (Rule, bool) {
	i := slices.IndexFunc(rules, func(r Rule) bool { return matches(name, r.Packages) })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

func (r Rule) allows(path string, standard bool) bool {
	if name, own := ownName(path); own {
		return matches(name, r.Own)
	}
	if standard {
		return matches(path, r.Std)
	}
	return matches(path, r.Foreign)
}

// banned tells what is reached that must not be, by the shortest way to it.
func banned(list []Package, byPath map[string]Package, bans []Ban) []Breach {
	var breaches []Breach
	for _, p := range list {
		name, own := ownName(p.ImportPath)
		for _, b := range bans {
			if !own || !matches(name, b.Packages) {
				continue
			}
			if way := reach(p.ImportPath, byPath, b.Never); way != nil {
				breaches = append(breaches, Breach{name, "reaches " + strings.Join(way, " -> "), b.Reason})
			}
		}
	}
	return breaches
}

// reach finds a shortest way from a package to one that a pattern names.
func reach(from string, byPath map[string]Package, never []string) []string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range byPath[queue[0]].Imports {
			if _, seen := before[next]; seen {
				continue
			}
			before[next] = queue[0]
			if matches(next, never) {
				var way []string
				for at := next; at != from; at = before[at] {
					way = append(way, at)
				}
				slices.Reverse(way)
				return way
			}
			queue = append(queue, next)
		}
	}
	return nil
}

// ownName is a path within the module, and whether it is one.
func ownName(path string) (string, bool) {
	name, own := strings.CutPrefix(path, Module+"/")
	return name, own
}

// matches tells whether a pattern names the path.
func matches(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if pattern == "..." {
			return true
		}
		prefix, open := strings.CutSuffix(pattern, "/...")
		return path == prefix || open && strings.HasPrefix(path, prefix+"/")
	})
}
