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
	// From is the file that it was read from.
	From string
	Raw  map[string]any
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
	var out []Document
	for _, path := range paths {
		docs, err := readPath(stdin, path)
		if err != nil {
			return nil, err
		}
		out = append(out, docs...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there is no object in %s", strings.Join(paths, ", "))
	}
	return out, nil
}

func readPath(stdin io.Reader, path string) ([]Document, error) {
	if path == "-" {
		text, err := io.ReadAll(stdin)
		if err != nil {
			return nil, err
		}
		return split("standard input", text)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return split(path, text)
	}
	if kustomized(path) {
		return build(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var out []Document
	for _, e := range entries {
		if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) || e.IsDir() {
			continue
		}
		docs, err := readPath(nil, filepath.Join(path, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, docs...)
	}
	return out, nil
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
func build(folder string) ([]Document, error) {
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("kustomization %s: %w", folder, err)
	}
	text, err := m.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("kustomization %s: %w", folder, err)
	}
	return split(folder, text)
}

// split takes a stream of YAML or JSON documents apart; lists are unfolded.
func split(from string, text []byte) ([]Document, error) {
	var out []Document
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		raw := map[string]any{}
		if err := sigsyaml.UnmarshalStrict(doc, &raw); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		if len(raw) == 0 {
			continue
		}
		d := Document{from, raw}
		if d.Kind() == "" {
			return nil, fmt.Errorf("%s: there is a document without a kind", from)
		}
		items, isList := raw["items"].([]any)
		if !isList || !strings.HasSuffix(d.Kind(), "List") {
			out = append(out, d)
			continue
		}
		for _, item := range items {
			if o, ok := item.(map[string]any); ok {
				out = append(out, Document{from, o})
			}
		}
	}
}
