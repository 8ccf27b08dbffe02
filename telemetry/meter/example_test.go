package meter_test

import (
	"fmt"
	"io"
	"strings"

	"sluice/telemetry/meter"
)

// A Meter sits beside the copy from upstream to the client.
func ExampleMeter() {
	body := `data:{"output":{"text":"Three words","finish_reason":"null"},"usage":{"input_tokens":14,"output_tokens":2}}

data:{"output":{"text":"Three words.","finish_reason":"stop"},"usage":{"input_tokens":14,"output_tokens":3}}

`
	reads := meter.New("text/event-stream", "")
	if _, err := io.Copy(io.Discard, io.TeeReader(strings.NewReader(body), reads)); err != nil {
		fmt.Println(err)
	}
	reading := reads.End()
	tokens, _ := reading.Usage.Tokens()
	fmt.Println(tokens, reading.FinishReasons, reading.Complete)
	// Output: 17 [stop] true
}
