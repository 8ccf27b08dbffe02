package dialect

import (
	"testing"

	"sluice/gateway/dialect/chat"
)

// A message that names fields of the service's request names the client's members.
func TestMessagesNameTheClientsMembers(t *testing.T) {
	for message, want := range map[string]string{
		"": "", "No field.": "No field.",
		"parameters.temperature: given 2, allowed a number from 0 to below 2 (text.temperature)": "temperature: given 2, allowed a number " +
			"from 0 to below 2 (text.temperature)",
		"parameters.top_p: given 0; parameters.n: given 9":          "top_p: given 0; n: given 9",
		"The field input.messages[2].content[1].image is bad.":      "The field messages[2].content[1].image_url is bad.",
		"Set parameters.top_p.":                                     "Set top_p.",
		"my.parameters.top_p and input.prompt and parameters. stay": "my.parameters.top_p and input.prompt and parameters. stay",
		"parameters.stop[0]: given 词":                               "stop[0]: given 词",
	} {
		if got := named(message, chat.Param); got != want {
			t.Errorf("%q became %q, want %q", message, got, want)
		}
	}
	if got := named("parameters.n", nil); got != "parameters.n" {
		t.Error(got)
	}
}
