package openai

import (
	"strings"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
)

// AppendError appends {"error":{"message","type","param","code"}}.
func AppendError(dst []byte, r *conversation.Refusal) []byte {
	return append(appendRefusal(append(dst, `{"error":`...), r), '}')
}

func appendRefusal(dst []byte, r *conversation.Refusal) []byte {
	dst = rawjson.Quote(append(dst, `{"message":`...), r.Message)
	dst = rawjson.Quote(append(dst, `,"type":`...), r.Kind("server_error"))
	dst = orNull(append(dst, `,"param":`...), r.Param)
	dst = orNull(append(dst, `,"code":`...), ErrorCode(r.Code))
	return append(dst, '}')
}

func orNull(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, "null"...)
	}
	return rawjson.Quote(dst, text)
}

// ErrorCode is the service's code. Exhausted quotas get OpenAI's code, by which clients distinguish them from rate limits.
func ErrorCode(code string) string {
	if code == conversation.CodeQuota {
		return "insufficient_quota"
	}
	return code
}

// ImageParam returns the member of a request for images that was translated to a field of the service's request, such as
// parameters.n. It is empty if there is none, as for a header.
func ImageParam(field string) string {
	if field == "model" {
		return field
	}
	if name, ok := strings.CutPrefix(field, "parameters."); ok {
		return name
	}
	switch {
	case !strings.HasPrefix(field, "input."):
		return ""
	case strings.Contains(field, ".image"), strings.HasSuffix(field, ".content"): // only the images of a content differ
		return "image"
	}
	return "prompt"
}
