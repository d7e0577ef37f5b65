package simulate

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

// document is one object of the input.
type document struct {
	// from is the file that it was read from.
	from string
	raw  map[string]any
}

func (d document) kind() string { k, _ := d.raw["kind"].(string); return k }

func (d document) name() string {
	m, _ := d.raw["metadata"].(map[string]any)
	n, _ := m["name"].(string)
	return n
}

// read reads all objects of files, folders, kustomizations and standard input.
func read(stdin io.Reader, paths []string) ([]document, error) {
	var out []document
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

func readPath(stdin io.Reader, path string) ([]document, error) {
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
	var out []document
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
func build(folder string) ([]document, error) {
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
func split(from string, text []byte) ([]document, error) {
	var out []document
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
		d := document{from, raw}
		if d.kind() == "" {
			return nil, fmt.Errorf("%s: there is a document without a kind", from)
		}
		items, isList := raw["items"].([]any)
		if !isList || !strings.HasSuffix(d.kind(), "List") {
			out = append(out, d)
			continue
		}
		for _, item := range items {
			if o, ok := item.(map[string]any); ok {
				out = append(out, document{from, o})
			}
		}
	}
}
