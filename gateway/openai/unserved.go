package openai

import "strings"

// Unserved is the message for a path below /v1 that is not served. served lists the paths that are.
func Unserved(path string, served []string) string {
	if id, ok := strings.CutPrefix(path, "/v1/responses/"); ok && id != "" && id != "input_tokens" && id != "compact" {
		return "No response is kept here, so none can be read, changed or cancelled: send the turns again with POST /v1/responses."
	}
	var names []string
	for _, path := range served {
		if !strings.Contains(path, "{") {
			names = append(names, strings.TrimPrefix(path, "/v1/"))
		}
	}
	return "This path is not served. Sluice serves " + strings.Join(names, ", ") + " below /v1. " +
		"Audio, files, batches, fine-tuning, moderations, assistants and legacy completions are not offered by the service."
}
