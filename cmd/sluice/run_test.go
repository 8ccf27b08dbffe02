package main

import (
	"errors"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		about string
		args  []string
		code  int
		says  string
	}{
		{"help is no error", []string{"--help"}, exitClean, "Usage: sluice"},
		{"nor is a command's", []string{"demo", "--help"}, exitClean, "--traffic"},
		{"an unknown command", []string{"frobnicate"}, exitFaulty, "frobnicate"},
		{"an unknown flag", []string{"version", "--loud"}, exitFaulty, "--loud"},
		{"a flag left out", []string{"key"}, exitFaulty, "--team"},
		{"serve is the default, and needs settings", nil, exitFaulty, "SLUICE_UPSTREAM_URL"},
		{"version", []string{"version"}, exitClean, "sluice "},
		{"nobody listens", []string{"health"}, exitFailure, "not healthy"},
	} {
		environ := []string{"SLUICE_ADMIN_LISTEN=127.0.0.1:1"}
		got := command(t.Context(), environ, tt.args...)
		if got.code != tt.code || !strings.Contains(got.text(), tt.says) {
			t.Errorf("%s: %q ends with %d and says %q, want %d and %q", tt.about, tt.args, got.code, got.text(), tt.code, tt.says)
		}
	}
}

func TestOnlyWhatWentWellIsOnStandardOutput(t *testing.T) {
	got := command(t.Context(), nil, "serve")
	if got.stdout != "" || !strings.HasPrefix(got.stderr, "sluice: the configuration is faulty:\n") {
		t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
	}
}

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		text string
	}{
		{nil, exitClean, ""},
		{errors.New("the roof fell in"), exitFailure, "sluice: the roof fell in\n"},
		{errors.Join(faults{{Name: "SLUICE_X", Text: "is odd"}}), exitFaulty, "sluice: the configuration is faulty:\nSLUICE_X: is odd\n"},
		{faults{{Name: "SLUICE_X", Text: "a", Mark: " b\n ^\n"}}, exitFaulty, "sluice: the configuration is faulty:\nSLUICE_X: a\n     b\n     ^\n"},
		{badUsage{errors.New("no such word")}, exitFaulty, "sluice: no such word (try sluice --help)\n"},
	} {
		var stderr strings.Builder
		if code := report(&stderr, tt.err); code != tt.code || stderr.String() != tt.text {
			t.Errorf("%v: %d %q, want %d %q", tt.err, code, stderr.String(), tt.code, tt.text)
		}
	}
}
