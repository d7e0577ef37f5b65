// Fieldcheck compares CustomResourceDefinitions with a list of fields that they
// must hold.
//
// Its law: silence means that every listed field is there with the listed type,
// requirement, default and enumeration, and that the definitions refuse nothing
// that the list does not refuse.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
)

func main() {
	fields := flag.String("fields", "", "tab-separated list: kind, path, type, required, facts")
	flag.Parse()
	if flag.NArg() != 1 || *fields == "" {
		fmt.Fprintln(os.Stderr, "usage: fieldcheck -fields FILE FOLDER")
		os.Exit(2)
	}
	found, err := run(*fields, flag.Arg(0), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fieldcheck:", err)
		os.Exit(2)
	}
	if found > 0 {
		os.Exit(1)
	}
}

// run prints each difference as a line and returns how many there are.
func run(fieldsFile, folder string, w io.Writer) (int, error) {
	raw, err := os.ReadFile(fieldsFile)
	if err != nil {
		return 0, err
	}
	want, err := parseFields(bytes.NewReader(raw))
	if err != nil {
		return 0, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return 0, err
	}
	sort.Strings(files)
	have := map[key]field{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return 0, err
		}
		if err := readDefinition(raw, have); err != nil {
			return 0, fmt.Errorf("%s: %w", filepath.Base(f), err)
		}
	}
	lines := compare(want, have)
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
	return len(lines), nil
}
