package walls

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are the Markdown files of the repository by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	top := root(t)
	found := map[string]string{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path != top && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDocumentsLinkToFilesThatExist(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)
	seen := 0
	for path, text := range documents(t) {
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s, which does not exist", filepath.Base(path), m[1])
			}
		}
	}
	if seen == 0 {
		t.Error("no link was found at all: the check looks in the wrong place")
	}
}

func TestDocumentsHoldNoPlaceholders(t *testing.T) {
	open := regexp.MustCompile(`\b(TODO|TBD|FIXME|XXX)\b`)
	for path, text := range documents(t) {
		for i, line := range strings.Split(text, "\n") {
			if open.MatchString(line) {
				t.Errorf("%s:%d: %s", filepath.Base(path), i+1, line)
			}
		}
	}
}

func TestDocumentsNameMakeTargetsThatExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	for path, text := range documents(t) {
		for _, m := range regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)").FindAllStringSubmatch(text, -1) {
			if !targets[m[1]] {
				t.Errorf("%s speaks of make %s, which does not exist", filepath.Base(path), m[1])
			}
		}
	}
}
