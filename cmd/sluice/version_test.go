package main

import (
	"runtime/debug"
	"testing"
)

func TestBuildFacts(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "a1b2c3"}
	for _, tt := range []struct {
		about string
		info  debug.BuildInfo
		want  build
	}{
		{"a release", debug.BuildInfo{GoVersion: "go1.26.11", Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{revision}},
			build{"v1.2.3", "go1.26.11", "a1b2c3"}},
		{"a checkout with changes", debug.BuildInfo{GoVersion: "go1.26.11", Main: debug.Module{Version: "(devel)"},
			Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}},
			build{"(devel)", "go1.26.11", "a1b2c3+changes"}},
		{"no version control", debug.BuildInfo{GoVersion: "go1.26.11"}, build{"(devel)", "go1.26.11", "unknown"}},
	} {
		if got := buildOf(&tt.info); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.about, got, tt.want)
		}
	}
}
