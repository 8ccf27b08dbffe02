package teams_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
	"time"
)

// TestLookupOnlyHashesThePresentedKey checks the code of Lookup: the presented key is only measured and copied into the hash. It never
// indexes a map and is never compared, and only its length can end the work early.
func TestLookupOnlyHashesThePresentedKey(t *testing.T) {
	lookup := function(t, "key.go", "Lookup")
	uses := map[string]int{}
	ast.Inspect(lookup.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if called, ok := call.Fun.(*ast.Ident); ok && mentions(call.Args, "presented") {
				uses[called.Name]++
			}
		}
		if ident, ok := n.(*ast.Ident); ok && ident.Name == "presented" {
			uses["all"]++
		}
		return true
	})
	if uses["len"] != 1 || uses["copy"] != 1 || uses["all"] != 2 {
		t.Errorf("presented is used %v, want once in len and once in copy", uses)
	}
	if n := returns(lookup.Body); n != 3 {
		t.Errorf("Lookup has %d returns, want 3: too long, no, yes", n)
	}
	body := function(t, "key.go", "usable").Body
	if returns(body) != 1 {
		t.Error("usable can end early")
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
			t.Errorf("usable decides by %s, which skips its second operand", b.Op)
		}
		return true
	})
}

// function returns the declaration of a function of this package.
func function(t *testing.T, file, name string) *ast.FuncDecl {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == name {
			return f
		}
	}
	t.Fatalf("%s has no function %s", file, name)
	return nil
}

// mentions reports whether one of the arguments is the variable itself.
func mentions(args []ast.Expr, name string) bool {
	for _, arg := range args {
		if ident, ok := arg.(*ast.Ident); ok && ident.Name == name {
			return true
		}
	}
	return false
}

func returns(body *ast.BlockStmt) (n int) {
	ast.Inspect(body, func(node ast.Node) bool {
		if _, ok := node.(*ast.ReturnStmt); ok {
			n++
		}
		return true
	})
	return n
}

// TestLookupTakesTheSameTimeForEveryKey compares the fastest of many turns. Noise only ever adds to a turn, so the fastest turns of equal
// work are close to each other on a busy machine, where means would not be; one close round in ten is enough, since unequal
// work is never close.
func TestLookupTakesTheSameTimeForEveryKey(t *testing.T) {
	teams := keyring(t)
	keys := []string{"plain word", "ne'er heard", "put away", "ended", "of the closed"}
	var ratio float64
	for range 10 {
		fastest := fastestTurns(keys, func(key string) { teams.Lookup(key, noon) })
		low, high := fastest[0], fastest[0]
		for _, took := range fastest {
			low, high = min(low, took), max(high, took)
		}
		if ratio = float64(high) / float64(low); ratio < 1.3 {
			return
		}
	}
	t.Errorf("the slowest kind of key takes %.2f times the fastest", ratio)
}

// fastestTurns times turns of do for every key, one key after the other so that a slow moment meets all of them.
func fastestTurns(keys []string, do func(string)) []time.Duration {
	const turns, calls = 200, 100
	fastest := make([]time.Duration, len(keys))
	for turn := range turns {
		for i, key := range keys {
			start := time.Now()
			for range calls {
				do(key)
			}
			if took := time.Since(start); turn == 0 || took < fastest[i] {
				fastest[i] = took
			}
		}
	}
	return fastest
}
