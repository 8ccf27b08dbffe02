package meter

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

func TestZeroAndAbsentDiffer(t *testing.T) {
	var u Usage
	if n, ok := u.Get(OutputTokens); n != 0 || ok || u.Known() {
		t.Errorf("absent: %d, %t, known %t", n, ok, u.Known())
	}
	u.Raise(OutputTokens, 0)
	if n, ok := u.Get(OutputTokens); n != 0 || !ok || !u.Known() {
		t.Errorf("zero: %d, %t, known %t", n, ok, u.Known())
	}
	var other Usage
	other.raiseOther([]byte("plugins"), 0)
	if _, ok := other.Tokens(); ok || !other.Known() {
		t.Error("an unknown number is usage, but no tokens")
	}
}

func TestFieldNames(t *testing.T) {
	for f := range fieldCount {
		name := f.String()
		r := read("", fmt.Appendf(nil, `{"usage":{"%s":%d}}`, name, f+1))
		if n, ok := r.Usage.Get(f); !ok || n != int64(f)+1 || len(r.Usage.others) > 0 {
			t.Errorf("%s is read as %+v", name, r.Usage)
		}
	}
}

func TestDetailsAreTheSameNumbers(t *testing.T) {
	for path, f := range map[string]Field{
		`"input_tokens_details":{"image_tokens":7}`:                                                  ImageTokens,
		`"input_tokens_details":{"text_tokens":1,"video_tokens":7}`:                                  VideoTokens,
		`"input_tokens_details":{"audio_tokens":7}`:                                                  AudioTokens,
		`"input_tokens_details":{"cached_tokens":7}`:                                                 CachedTokens,
		`"prompt_tokens_details":{"cached_tokens":7}`:                                                CachedTokens,
		`"cached_tokens":3,"prompt_tokens_details":{"cached_tokens":7,"cache_type":"ephemeral"}`:     CachedTokens,
		`"prompt_tokens_details":{"cache_creation":{"x":1},"cache_creation_input_tokens":7}`:         CacheCreationTokens,
		`"output_tokens_details":{"reasoning_tokens":7},"reasoning_tokens":2`:                        ReasoningTokens,
		`"completion_tokens_details":{"reasoning_tokens":7}`:                                         ReasoningTokens,
		`"prompt_tokens_details":{"image_tokens":7}`:                                                 ImageTokens,
		`"prompt_tokens_details":{"video_tokens":7}`:                                                 VideoTokens,
		`"prompt_tokens_details":{"audio_tokens":7}`:                                                 AudioTokens,
		`"x_details":[{"image_count":9}],"output_tokens_details":{"image_tokens":9},"image_count":7`: ImageCount,
	} {
		r := read("", []byte(`{"usage":{`+path+`}}`))
		if n, ok := r.Usage.Get(f); n != 7 || !ok {
			t.Errorf("%s: %s is %d, %t", path, f, n, ok)
		}
		for _, token := range []Field{InputTokens, OutputTokens, TotalTokens} {
			if _, ok := r.Usage.Get(token); ok {
				t.Errorf("%s: %s is known", path, token)
			}
		}
	}
}

// The type of the cache and the size of the pictures are texts; of a stream the largest size counts.
func TestTextsOfTheUsage(t *testing.T) {
	for _, tt := range []struct {
		usages []string
		pixels int64
		word   string
		made   bool
		odd    bool
	}{
		{usages: []string{`{"size":"1024*768","image_count":1}`}, pixels: 786_432, word: "1024*768"},
		{usages: []string{`{"size":"0*0"}`, `{"size":"640*480"}`, `{"size":"320*240"}`}, pixels: 307_200, word: "640*480"},
		{usages: []string{`{"size":"0*0"}`}},
		{usages: []string{`{"width":1024,"height":768}`}, pixels: 786_432, word: "1024*768"},
		{usages: []string{`{"width":1024,"height":768,"size":"1K"}`}, pixels: 786_432, word: "1K"},
		{usages: []string{`{"width":0,"height":0}`, `{"width":1024,"height":768}`}, pixels: 786_432, word: "1024*768"},
		{usages: []string{`{"width":1024}`}},
		{usages: []string{`{"width":9007199254740991,"height":9007199254740991}`}, pixels: 1 << 52, word: "67108864*67108864"},
		{usages: []string{`{"size":"2K"}`}, word: "2K"},
		{usages: []string{`{"size":"2K"}`, `{"size":"2048*2048"}`}, pixels: 4_194_304, word: "2048*2048"},
		{usages: []string{`{"size":"` + strings.Repeat("1", 33) + `"}`, `{"size":"99999999999999*2"}`, `{"size":7}`}, word: "99999999999999*2"},
		{usages: []string{`{"width":"1024","size":null}`}, odd: true},
		{usages: []string{`{"prompt_tokens_details":{"cached_tokens":9,"cache_type":"ephemeral"}}`}, made: true},
		{usages: []string{`{"input_tokens_details":{"cache_type":"ephemeral"}}`, `{"input_tokens_details":{}}`}, made: true},
		{usages: []string{`{"cache_type":"ephemeral","cached_tokens":9}`}, made: true},
		{usages: []string{`{"cache_type":"default","other":{"cache_type":"ephemeral"}}`}},
	} {
		var documents []string
		for _, u := range tt.usages {
			documents = append(documents, `{"usage":`+u+`}`)
		}
		r := read("text/event-stream", frames(documents...))
		if pixels, word := r.Usage.Size(); pixels != tt.pixels || word != tt.word || r.Usage.HitsExplicitCache() != tt.made || r.Odd != tt.odd {
			t.Errorf("%s: %d pixels, %q, a made cache %t, odd %t", tt.usages, pixels, word, r.Usage.HitsExplicitCache(), r.Odd)
		}
	}
}

func TestAllStopsWhenAsked(t *testing.T) {
	r := read("", []byte(`{"usage":{"b":1,"input_tokens":2,"a":3,"b":4}}`))
	var names []string
	for name := range r.Usage.All() {
		names = append(names, name)
	}
	if fmt.Sprint(names) != "[input_tokens b a]" {
		t.Errorf("order %v", names)
	}
	for stop := range names {
		n := 0
		for range r.Usage.All() {
			if n++; n > stop {
				break
			}
		}
		if n != stop+1 {
			t.Errorf("%d numbers, want %d", n, stop+1)
		}
	}
}

// The gateway keeps one Meter for each answer under way.
func TestAMeterIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Meter{}); n > 2<<10 {
		t.Errorf("a Meter takes %d bytes", n)
	}
}
