package main

import (
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"sluice/gateway"
	"sluice/policy"
)

// values are settings as text, by variable, the way the environment has them. A secret that is set is "[redacted]".
func (s settings) values() map[string]string {
	texts := make(map[string]string)
	for field, value := range reflect.ValueOf(s).Fields() {
		texts[prefix+field.Tag.Get("env")] = show(value.Interface())
	}
	return texts
}

func show(value any) string {
	switch v := value.(type) {
	case gateway.Secret:
		if v == "" {
			return ""
		}
	case *url.URL:
		if v == nil {
			return ""
		}
	case time.Duration:
		return showDuration(v)
	case policy.Modes:
		return showModes(v)
	case slog.Level:
		return strings.ToLower(v.String())
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice {
		words := make([]string, v.Len())
		for i := range words {
			words[i] = show(v.Index(i).Interface())
		}
		return strings.Join(words, ",")
	}
	return fmt.Sprint(value)
}

func showModes(modes policy.Modes) string {
	var pairs []string
	for _, id := range slices.Sorted(maps.Keys(modes)) {
		pairs = append(pairs, id+"="+string(modes[id]))
	}
	return strings.Join(pairs, ",")
}

// showDuration leaves out the zeros that the standard form ends in: 24h, not 24h0m0s.
func showDuration(d time.Duration) string {
	text := d.String()
	for _, zeros := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zeros) {
			text = strings.TrimSuffix(text, zeros[1:])
		}
	}
	return text
}
