package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// printTable prints a measure's figures as a page's table: the median of the rounds, and in brackets the least and the most. A
// ratio is taken in each round, relative to that round's first gateway.
func printTable(out io.Writer, m measure, names []string, all results) {
	heads := []string{""}
	for _, column := range m.columns {
		heads = append(heads, column.head)
	}
	reference := names[0]
	for _, column := range m.columns {
		if column.ratio {
			heads = append(heads, column.head+" ÷ "+reference)
		}
	}
	_, _ = fmt.Fprintf(out, "\n### %s (%s)\n\n| %s |\n|%s\n", m.title, m.name, strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, name := range names {
		cells := []string{name}
		for i, column := range m.columns {
			cells = append(cells, spread(series(all[name], i), column.decimals))
		}
		for i, column := range m.columns {
			if column.ratio {
				cells = append(cells, spread(quotients(series(all[name], i), series(all[reference], i)), 2))
			}
		}
		_, _ = fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
}

// series is one column over the rounds.
func series(rounds [][]float64, column int) (values []float64) {
	for _, figures := range rounds {
		values = append(values, figures[column])
	}
	return values
}

func quotients(values, references []float64) (ratios []float64) {
	for i, value := range values {
		ratios = append(ratios, value/references[i])
	}
	return ratios
}

func spread(values []float64, decimals int) string {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%s–%s)", number(median(sorted), decimals), number(sorted[0], decimals), number(sorted[len(sorted)-1], decimals))
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// number writes thousands with a comma.
func number(value float64, decimals int) string {
	text := strconv.FormatFloat(value, 'f', decimals, 64)
	whole, rest, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		return whole + "." + rest
	}
	return whole
}
