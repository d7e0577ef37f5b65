// Package manifest reads objects from files, folders, kustomizations and standard
// input, as the commands that need no cluster are given them.
//
// Law: all objects are read or none, in their order; what cannot be read is named
// with its file.
package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"
)

// Document is one object of the input.
type Document struct {
	// From is the file that it was read from, Number its place there, from 1. The
	// items of a list share the place of the list.
	From   string
	Number int
	Raw    map[string]any
}

// Unread is a document that could not be read.
type Unread struct {
	From   string
	Number int
	Err    error
}

// Kind of the object.
func (d Document) Kind() string { k, _ := d.Raw["kind"].(string); return k }

// Group of the object's kind, empty for the core.
func (d Document) Group() string {
	v, _ := d.Raw["apiVersion"].(string)
	group, _, ok := strings.Cut(v, "/")
	if !ok {
		return ""
	}
	return group
}

// Name of the object.
func (d Document) Name() string { return d.meta("name") }

// Namespace of the object, empty where it names none.
func (d Document) Namespace() string { return d.meta("namespace") }

func (d Document) meta(field string) string {
	m, _ := d.Raw["metadata"].(map[string]any)
	s, _ := m[field].(string)
	return s
}

// Find gives the index of an object, -1 where there is none. One that names no
// namespace is taken to be in the home namespace.
func Find(docs []Document, group, kind, namespace, name, home string) int {
	return slices.IndexFunc(docs, func(d Document) bool {
		return d.Kind() == kind && d.Group() == group && d.Name() == name && (d.Namespace() == namespace || d.Namespace() == "" && namespace == home)
	})
}

// Read reads all objects of files, folders, kustomizations and standard input.
func Read(stdin io.Reader, paths []string) ([]Document, error) {
	docs, unread, err := Survey(stdin, paths)
	if err == nil && len(unread) > 0 {
		err = fmt.Errorf("%s: %w", unread[0].From, unread[0].Err)
	}
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// Survey reads what it can: documents that cannot be read are told apart.
func Survey(stdin io.Reader, paths []string) ([]Document, []Unread, error) {
	r := &reading{stdin: stdin}
	for _, path := range paths {
		if err := r.path(path); err != nil {
			return nil, nil, err
		}
	}
	if len(r.docs) == 0 && len(r.unread) == 0 {
		return nil, nil, fmt.Errorf("there is no object in %s", strings.Join(paths, ", "))
	}
	return r.docs, r.unread, nil
}

// reading is what was read so far.
type reading struct {
	stdin  io.Reader
	docs   []Document
	unread []Unread
}

func (r *reading) path(path string) error {
	if path == "-" {
		text, err := io.ReadAll(r.stdin)
		if err != nil {
			return err
		}
		return r.split("standard input", text)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return r.split(path, text)
	}
	if kustomized(path) {
		return r.build(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) || e.IsDir() {
			continue
		}
		if err := r.path(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func kustomized(folder string) bool {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}

// build renders a kustomization as kubectl would.
func (r *reading) build(folder string) error {
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return fmt.Errorf("kustomization %s: %w", folder, err)
	}
	text, err := m.AsYaml()
	if err != nil {
		return fmt.Errorf("kustomization %s: %w", folder, err)
	}
	return r.split(folder, text)
}

// split takes a stream of YAML or JSON documents apart; lists are unfolded.
func (r *reading) split(from string, text []byte) error {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for number := 1; ; number++ {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		raw := map[string]any{}
		if err := sigsyaml.UnmarshalStrict(doc, &raw); err != nil {
			r.unread = append(r.unread, Unread{from, number, err})
			continue
		}
		if len(raw) > 0 {
			r.keep(Document{from, number, raw})
		}
	}
}

func (r *reading) keep(d Document) {
	if d.Kind() == "" {
		r.unread = append(r.unread, Unread{d.From, d.Number, errors.New("there is a document without a kind")})
		return
	}
	items, isList := d.Raw["items"].([]any)
	if !isList || !strings.HasSuffix(d.Kind(), "List") {
		r.docs = append(r.docs, d)
		return
	}
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			r.docs = append(r.docs, Document{d.From, d.Number, o})
		}
	}
}
