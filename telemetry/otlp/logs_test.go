package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// Any text may be quoted in an event, at any place.
func TestAnEventIsMadeValid(t *testing.T) {
	exporter := new(keptLogs)
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(newLogGate(newGate(10), exporter)))
	log := slog.New(otelslog.NewHandler("sluice", otelslog.WithLoggerProvider(provider)))
	log.With("with\xff", 1).Info("said \xff", "error", errors.New("\xff"), "list", []string{"a\xff"}, slog.Group("g\xff", "k\xff", "v\xff"), "number", 7)
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(exporter.texts, " "); !utf8.ValidString(text) || strings.Count(text, "\ufffd") != 7 || !strings.Contains(text, "number 7") {
		t.Errorf("sent is %q", text)
	}
}

// keptLogs keeps the records that it receives, as text.
type keptLogs struct{ texts []string }

func (k *keptLogs) Export(_ context.Context, records []sdklog.Record) error {
	for i := range records {
		k.texts = append(k.texts, records[i].Body().AsString())
		for kv := range records[i].WalkAttributes {
			k.texts = append(k.texts, string(kv.Key)+" "+fmt.Sprint(kv.Value.AsInterface()))
		}
	}
	return nil
}

func (*keptLogs) Shutdown(context.Context) error   { return nil }
func (*keptLogs) ForceFlush(context.Context) error { return nil }
