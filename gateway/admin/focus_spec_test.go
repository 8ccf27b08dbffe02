package admin

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/unit"
)

// What FOCUS 1.2 specifies for the columns that are written: those that every file must have, those that may be null, and forms.
var (
	focusMandatory = []string{
		"BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory",
		"ChargeClass", "ChargeDescription",
		"ChargePeriodEnd", "ChargePeriodStart", "ContractedCost", "EffectiveCost", "InvoiceIssuerName", "ListCost", "PricingQuantity",
		"PricingUnit", "ProviderName", "PublisherName", "ServiceCategory", "ServiceName",
	}
	focusNullable = []string{"BillingAccountName", "ChargeClass", "ChargeDescription", "ConsumedQuantity", "ConsumedUnit", "ListUnitPrice",
		"PricingQuantity", "PricingUnit", "SubAccountId", "SubAccountName", "x_Kind", "x_Size"}

	focusNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	focusMoment = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$`)
	focusForms  = map[string]*regexp.Regexp{
		"BilledCost": focusNumber, "ContractedCost": focusNumber, "EffectiveCost": focusNumber, "ListCost": focusNumber,
		"PricingQuantity": focusNumber, "ListUnitPrice": focusNumber, "ConsumedQuantity": focusNumber,
		"x_EstimatedCost": focusNumber, "x_Images": focusNumber, "x_Requests": focusNumber, "x_Tokens": focusNumber,
		"BillingPeriodStart": focusMoment, "BillingPeriodEnd": focusMoment, "ChargePeriodStart": focusMoment, "ChargePeriodEnd": focusMoment,
		"BillingCurrency": regexp.MustCompile(`^[A-Z]{3}$`), "ChargeCategory": regexp.MustCompile(`^(Usage|Purchase|Tax|Credit|Adjustment)$`),
		"ChargeClass":        regexp.MustCompile(`^Correction$`),
		"ChargeFrequency":    regexp.MustCompile(`^(One-Time|Recurring|Usage-Based)$`),
		"ServiceCategory":    regexp.MustCompile(`^AI and Machine Learning$`),
		"ServiceSubcategory": regexp.MustCompile(`^Generative AI$`), "PricingUnit": regexp.MustCompile(`^(Images|Tokens|Requests)$`),
		"ConsumedUnit": regexp.MustCompile(`^(Images|Tokens|Requests)$`),
	}
)

// TestFocusFollowsItsSpecification: for random ledgers, with corrections, and requests without a model.
func TestFocusFollowsItsSpecification(t *testing.T) {
	for _, column := range focusMandatory {
		if !slices.Contains(focusColumns, column) {
			t.Errorf("%s is mandatory", column)
		}
	}
	if own := slices.IndexFunc(focusColumns, func(c string) bool {
		return strings.HasPrefix(c, "x_")
	}); !slices.IsSorted(focusColumns[:own]) || !slices.IsSorted(focusColumns[own:]) {
		t.Error("own columns come last, and both kinds in order")
	}
	rapid.Check(t, func(t *rapid.T) {
		var rows []limit.Row
		for day := range rapid.IntRange(1, 3).Draw(t, "days") {
			row := limit.Row{Team: "search", Day: 20261129 + day, Model: rapid.SampledFrom([]string{"", "llm", "=1", "adjustment", "other"}).
				Draw(t, "model"), Endpoint: rapid.SampledFrom(policy.Endpoints).Draw(t, "endpoint")}
			row.Used = limit.Amounts{rapid.Int64Range(0, 3).Draw(t, "requests"), rapid.Int64Range(-9, 9).Draw(t, "tokens"),
				rapid.Int64Range(-1, 3).Draw(t, "images"), rapid.Int64Range(-5e9, 5e9).Draw(t, "spend")}
			rows = append(rows, row)
		}
		var out bytes.Buffer
		focus, err := NewFocus(&out, unit.Currency{Word: "CNY"}, "acme")
		if err != nil {
			t.Fatal(err)
		}
		focus.Add(NewUsageReport(unit.Currency{Word: "CNY"}, "2026-11-29", "2026-12-01", rows, true).Rows)
		if err := focus.Flush(); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines[1:] {
			judgeCharge(t, line)
		}
	})
}

// judgeCharge compares one row with the specification.
func judgeCharge(t *rapid.T, line []string) {
	row := map[string]string{}
	for i, column := range focusColumns {
		row[column] = line[i]
		form := focusForms[column]
		switch {
		case line[i] == "" && !slices.Contains(focusNullable, column):
			t.Errorf("%s must not be null: %q", column, line)
		case line[i] != "" && form != nil && !form.MatchString(line[i]):
			t.Errorf("%s must not be %q", column, line[i])
		}
	}
	usage := row["ChargeCategory"] == "Usage"
	if corrected := row["ServiceName"] == limit.AdjustedModel && row["x_Endpoint"] == string(policy.EndpointOther); corrected == usage {
		t.Errorf("a correction is told by model and endpoint: %v", row)
	}
	if (row["ConsumedQuantity"] != "") != usage {
		t.Errorf("ConsumedQuantity is null unless the category is Usage: %v", row)
	}
	if usage && row["PricingQuantity"] == "" {
		t.Errorf("PricingQuantity is not null if the category is Usage: %v", row)
	}
	for _, of := range []string{"Consumed", "Pricing"} {
		if (row[of+"Quantity"] == "") != (row[of+"Unit"] == "") {
			t.Errorf("%sQuantity and its unit are null together: %v", of, row)
		}
	}
	if (row["ChargeFrequency"] == "Usage-Based") != usage {
		t.Errorf("a correction by hand does not repeat: %v", row)
	}
	for _, cost := range []string{"ContractedCost", "EffectiveCost", "ListCost"} {
		if row[cost] != row["BilledCost"] {
			t.Errorf("without unit prices %s is BilledCost: %v", cost, row)
		}
	}
}
