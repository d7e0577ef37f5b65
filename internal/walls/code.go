package walls

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Budgets. They stretch only by an Exception with a reason.
const (
	maxFunctionLines = 60
	maxFileLines     = 500
	maxTestFileLines = 1200
	maxInterfaceSize = 4
	budgetReason     = "what does not fit on a screen is not read as a whole; split it by what it does, or name the reason in internal/walls/exceptions.go"
	interfaceReason  = "a narrow port is easy to put another part behind"
	variableReason   = "state of a package outlives tests and is shared by all instances in a process; pass it, or return it from a function"
	initReason       = "code that runs by being imported cannot be chosen, ordered or tested"
	nameReason       = "a package is named for what it provides"
	docReason        = "every package states its purpose and its law before the package clause of one file"
	nestedReason     = "the nested module must build without this one, and the other way round"
	nestedModule     = "test/cluster"
	corePrefix       = "internal/decide/"
)

// Source is one parsed file.
type Source struct {
	// Path is relative to the repository, with slashes.
	Path  string
	Lines int
	file  *ast.File
	set   *token.FileSet
}

// ParseTree parses every Go file below a folder, but for hidden folders,
// testdata and generated files.
func ParseTree(root string) ([]Source, error) {
	var list []Source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s, err := Parse(path, filepath.ToSlash(rel), nil)
		if err == nil && !s.generated() {
			list = append(list, s)
		}
		return err
	})
	return list, err
}

// Parse parses one file, from text if that is given.
func Parse(path, rel string, text any) (Source, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return Source{}, err
	}
	return Source{Path: rel, Lines: set.File(f.FileStart).LineCount(), file: f, set: set}, nil
}

func (s Source) generated() bool { return ast.IsGenerated(s.file) }

func (s Source) test() bool { return strings.HasSuffix(s.Path, "_test.go") }

func (s Source) folder() string {
	i := strings.LastIndex(s.Path, "/")
	return s.Path[:max(i, 0)]
}

func (s Source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.Path, s.set.Position(n.Pos()).Line)
}

// Code checks the text of the code: budgets, names, documentation, purity.
// Exceptions that excuse nothing are breaches too.
func Code(sources []Source, exceptions []Exception) []Breach {
	var found []finding
	for _, s := range sources {
		found = append(found, budgets(s)...)
		found = append(found, declarations(s)...)
		if strings.HasPrefix(s.Path, corePrefix) && !s.test() {
			found = append(found, impure(s)...)
		}
		if strings.HasPrefix(s.Path, nestedModule+"/") {
			found = append(found, nested(s)...)
		}
	}
	found = append(found, packages(sources)...)
	return excuse(found, exceptions)
}

// finding is a breach with the name by which an exception can excuse it.
type finding struct {
	name string // folder or file, then the declaration where there is one
	Breach
}

func budgets(s Source) []finding {
	var found []finding
	limit := maxFileLines
	if s.test() {
		limit = maxTestFileLines
	}
	if s.Lines > limit {
		found = append(found, finding{s.Path, Breach{s.Path, fmt.Sprintf("%d lines, more than %d", s.Lines, limit), budgetReason}})
	}
	for _, d := range s.file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || s.test() {
			continue
		}
		lines := s.set.Position(fn.End()).Line - s.set.Position(fn.Pos()).Line + 1
		if lines > maxFunctionLines {
			found = append(found, finding{s.folder() + " " + fn.Name.Name,
				Breach{s.at(fn), fmt.Sprintf("function %s has %d lines, more than %d", fn.Name.Name, lines, maxFunctionLines), budgetReason}})
		}
	}
	return found
}

// declarations checks what stands at package level outside tests.
func declarations(s Source) []finding {
	if s.test() {
		return nil
	}
	var found []finding
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				found = append(found, finding{s.folder() + " init", Breach{s.at(d), "function init", initReason}})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					if d.Tok == token.VAR {
						found = append(found, variables(s, d, spec)...)
					}
				case *ast.TypeSpec:
					found = append(found, port4(s, spec)...)
				}
			}
		}
	}
	return found
}

// variables finds package variables that can be changed. Error values, compiled
// expressions, embedded files and checks of interfaces (the blank name) cannot
// sensibly be; a struct of literals is a constant that the language has no other
// way to write.
func variables(s Source, d *ast.GenDecl, spec *ast.ValueSpec) []finding {
	if embedded(d.Doc) || embedded(spec.Doc) {
		return nil
	}
	var found []finding
	for i, name := range spec.Names {
		if name.Name == "_" || i < len(spec.Values) && constant(spec.Values[i]) {
			continue
		}
		found = append(found, finding{s.folder() + " " + name.Name, Breach{s.at(name), "package variable " + name.Name, variableReason}})
	}
	return found
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

func constant(value ast.Expr) bool {
	switch value := value.(type) {
	case *ast.CallExpr:
		pkg, name := selector(value.Fun)
		return slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile", "template.Must"}, pkg+"."+name)
	case *ast.CompositeLit:
		return literalStruct(value)
	}
	return false
}

// literalStruct tells a value of a named type whose fields are plain literals. A
// named map does not pass: its keys are literals too.
func literalStruct(lit *ast.CompositeLit) bool {
	switch lit.Type.(type) {
	case *ast.Ident, *ast.SelectorExpr:
	default:
		return false
	}
	return len(lit.Elts) > 0 && !slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if _, field := pair.Key.(*ast.Ident); !field {
				return true
			}
			e = pair.Value
		}
		_, plain := e.(*ast.BasicLit)
		return !plain
	})
}

// selector splits pkg.Name.
func selector(e ast.Expr) (pkg, name string) {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", ""
	}
	return x.Name, sel.Sel.Name
}

func port4(s Source, spec *ast.TypeSpec) []finding {
	i, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return nil
	}
	methods := 0
	for _, f := range i.Methods.List {
		methods += len(f.Names)
	}
	if methods <= maxInterfaceSize {
		return nil
	}
	return []finding{{s.folder() + " " + spec.Name.Name,
		Breach{s.at(spec), fmt.Sprintf("interface %s has %d methods, more than %d", spec.Name.Name, methods, maxInterfaceSize), interfaceReason}}}
}

// impure finds what the imports of the decision core do not show: reading a
// clock, and running at the same time as others.
func impure(s Source) []finding {
	var found []finding
	add := func(n ast.Node, what string) {
		found = append(found, finding{s.folder() + " " + what, Breach{s.at(n), what, pure}})
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add(n, "go statement")
		case *ast.SelectStmt:
			add(n, "select statement")
		case *ast.ChanType:
			add(n, "channel")
		case *ast.SelectorExpr:
			if pkg, name := selector(n); clockOrChance(pkg, name) {
				add(n, pkg+"."+name)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
				add(n, f.Name)
			}
		}
		return true
	})
	return found
}

func clockOrChance(pkg, name string) bool {
	switch pkg {
	case "time":
		return slices.Contains([]string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"}, name)
	case "metav1":
		return name == "Now" || name == "NowMicro"
	case "fmt":
		return strings.HasPrefix(name, "Print") || strings.HasPrefix(name, "Scan")
	case "rand":
		return name != "SafeEncodeString"
	}
	return false
}

func nested(s Source) []finding {
	var found []finding
	for _, i := range s.file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		if name, own := ownName(path); own && !matches(name, []string{nestedModule + "/..."}) {
			found = append(found, finding{s.folder() + " " + path, Breach{s.at(i), "imports " + path, nestedReason}})
		}
	}
	return found
}

// packages checks names and documentation, folder by folder.
func packages(sources []Source) []finding {
	var found []finding
	documented := map[string]bool{}
	for _, s := range sources {
		if s.test() {
			continue
		}
		documented[s.folder()] = documented[s.folder()] || s.file.Doc != nil
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "base", "context", "manager", "misc", "shared"}, s.file.Name.Name) {
			found = append(found, finding{s.folder(), Breach{s.Path, "package " + s.file.Name.Name, nameReason}})
		}
	}
	for folder, ok := range documented {
		if !ok {
			found = append(found, finding{folder, Breach{folder, "no package comment", docReason}})
		}
	}
	return found
}

// excuse drops what an exception names and adds the exceptions that name nothing.
func excuse(found []finding, exceptions []Exception) []Breach {
	used := make([]bool, len(exceptions))
	var breaches []Breach
	for _, f := range found {
		i := slices.IndexFunc(exceptions, func(e Exception) bool { return e.Name == f.name })
		if i < 0 {
			breaches = append(breaches, f.Breach)
			continue
		}
		used[i] = true
	}
	for i, e := range exceptions {
		if !used[i] {
			breaches = append(breaches, Breach{e.Name, "an exception that excuses nothing", "remove it from internal/walls/exceptions.go"})
		}
	}
	slices.SortFunc(breaches, func(a, b Breach) int { return strings.Compare(a.String(), b.String()) })
	return breaches
}
