package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The walls inside the packages: how many files of a package need each other, how many methods a receiver has, and how long a
// package is. All are measured from the code, so a package that becomes a maze fails here while it is still easy to split.

// walls are the bounds of a package.
type walls struct {
	knot    int            // files that need each other, directly or through more files
	methods map[string]int // of receivers that may have more than mostMethods
	lines   int            // with comments, without tests
}

const (
	mostMethods  = 20   // of one receiver
	mostLines    = 4500 // of a package
	smallPackage = 8    // in a package of fewer files any file may use any other
)

// wallsOf returns the walls of a package of that many files: at most a third of them need each other.
func wallsOf(files int) walls {
	b := walls{knot: files / 3, lines: mostLines}
	if files < smallPackage {
		b.knot = files
	}
	return b
}

// beyond are the packages that are still beyond the bounds, and how far. A number here may only shrink; at the bound its row is removed.
var beyond = map[string]walls{}

func TestPackagesHaveWalls(t *testing.T) {
	t.Parallel()
	for pkg, files := range filesByPackage(t) {
		allowed := wallsOf(len(files))
		allowed.knot, allowed.lines, allowed.methods = max(allowed.knot, beyond[pkg].knot), max(allowed.lines, beyond[pkg].lines),
			beyond[pkg].methods
		if fault := mazeIn(files, allowed); fault != "" {
			t.Errorf("%s: %s", pkg, fault)
		}
	}
}

// filesByPackage returns the code of each package, without tests and without files for other systems, which declare the
// same names again.
func filesByPackage(t *testing.T) map[string][]*ast.File {
	t.Helper()
	files := map[string][]*ast.File{}
	for _, s := range sources(t) {
		if !s.isTest() && !strings.HasSuffix(s.name, "_other.go") {
			files[s.pkg] = append(files[s.pkg], s.syntax)
		}
	}
	return files
}

// mazeIn names the missing walls of a package, "" if none is missing.
func mazeIn(files []*ast.File, allowed walls) string {
	var faults []string
	if knot := largestKnot(usesOf(files)); len(knot) > allowed.knot {
		faults = append(faults, fmt.Sprintf("%d files need each other, %d may: %s", len(knot), allowed.knot, strings.Join(knot, " ")))
	}
	for receiver, methods := range methodsOf(files) {
		if methods > max(mostMethods, allowed.methods[receiver]) {
			faults = append(faults, fmt.Sprintf("too many methods: %s has %d", receiver, methods))
		}
	}
	lines := 0
	for _, file := range files {
		lines += positions.Position(file.FileEnd).Line
	}
	if lines > allowed.lines {
		faults = append(faults, fmt.Sprintf("%d lines, %d may be", lines, allowed.lines))
	}
	slices.Sort(faults)
	return strings.Join(faults, "; ")
}

// usesOf returns, for each file, the files whose declarations it uses: package-level names, methods and fields. Imports are
// not resolved: other packages' declarations make no difference, and the resulting type errors are ignored.
func usesOf(files []*ast.File) map[string]map[string]bool {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	lenient := types.Config{Importer: unresolved{}, Error: func(error) {}}
	pkg, _ := lenient.Check("room", positions, files, info)
	uses := map[string]map[string]bool{}
	for ident, object := range info.Uses {
		from, to := fileOf(ident.Pos()), fileOf(object.Pos())
		if object.Pkg() != pkg || !sharedByFiles(pkg, object) || from == to {
			continue
		}
		if uses[from] == nil {
			uses[from] = map[string]bool{}
		}
		uses[from][to] = true
	}
	return uses
}

type unresolved struct{}

func (unresolved) Import(string) (*types.Package, error) { return nil, errors.New("not resolved") }

func fileOf(pos token.Pos) string { return filepath.Base(positions.Position(pos).Filename) }

// sharedByFiles reports whether another file can use an object; it cannot use locals and parameters.
func sharedByFiles(pkg *types.Package, object types.Object) bool {
	switch object := object.(type) {
	case *types.Func:
		return true
	case *types.Var:
		return object.IsField() || object.Parent() == pkg.Scope()
	default:
		return object.Parent() == pkg.Scope()
	}
}

// largestKnot returns the largest set of files each of which needs all others, directly or through more files.
func largestKnot(uses map[string]map[string]bool) []string {
	reached := map[string]map[string]bool{}
	for file := range uses {
		reached[file] = map[string]bool{}
		reach(uses, file, reached[file])
	}
	var largest []string
	for file := range uses {
		var knot []string
		for _, other := range slices.Sorted(maps.Keys(reached[file])) {
			if reached[other][file] {
				knot = append(knot, other)
			}
		}
		if len(knot) > len(largest) {
			largest = knot
		}
	}
	return largest
}

func reach(uses map[string]map[string]bool, file string, seen map[string]bool) {
	for next := range uses[file] {
		if !seen[next] {
			seen[next] = true
			reach(uses, next, seen)
		}
	}
}

// methodsOf counts the methods of each receiver.
func methodsOf(files []*ast.File) map[string]int {
	count := map[string]int{}
	for _, file := range files {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv != nil {
				count[receiverOf(f)]++
			}
		}
	}
	return count
}

// receiverOf returns the name of a method's receiver, without pointer and type parameters.
func receiverOf(method *ast.FuncDecl) string {
	switch t := ast.Unparen(method.Recv.List[0].Type).(type) {
	case *ast.StarExpr:
		return nameOf(t.X)
	default:
		return nameOf(t)
	}
}

func nameOf(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.IndexExpr:
		return nameOf(t.X)
	case *ast.IndexListExpr:
		return nameOf(t.X)
	}
	return ""
}

// TestTheWallsAreSeen builds a maze of each kind, and a chain of files, which is no maze.
func TestTheWallsAreSeen(t *testing.T) {
	ring, chain := map[string]string{}, map[string]string{}
	for i := range smallPackage {
		this, next := string(rune('a'+i)), string(rune('a'+(i+1)%smallPackage))
		ring[this+".go"] = "package room\nfunc " + this + "() { " + next + "() }\n"
		chain[this+".go"] = ring[this+".go"]
	}
	chain["h.go"] = "package room\nfunc h() {}\n"
	crowd := "package room\ntype giant[T any] struct{}\n"
	for i := range mostMethods + 1 {
		crowd += "func (g *giant[T]) m" + strings.Repeat("x", i) + "() {}\n"
	}
	for _, tt := range []struct {
		about string
		files map[string]string
		want  string
	}{
		{"a ring", ring, "8 files need each other, 2 may: a.go b.go c.go d.go e.go f.go g.go h.go"},
		{"a chain", chain, ""},
		{"a receiver that does everything", map[string]string{"crowd.go": crowd}, "too many methods: giant has 21"},
	} {
		var files []*ast.File
		for _, name := range slices.Sorted(maps.Keys(tt.files)) {
			syntax, err := parser.ParseFile(positions, name, tt.files[name], parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, syntax)
		}
		if fault := mazeIn(files, wallsOf(len(files))); fault != tt.want {
			t.Errorf("%s: %q, want %q", tt.about, fault, tt.want)
		}
	}
}
