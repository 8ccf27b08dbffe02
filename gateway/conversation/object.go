package conversation

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// ReadObject returns the object that an answer is. Invalid characters in its strings are replaced, because an answer that is
// paid for must not fail for them.
func ReadObject(answer []byte) (object []byte, ok bool) {
	r := strictjson.NewReader(answer)
	if object = r.Value(); r.End() {
		return object, rawjson.Kind(object) == '{'
	}
	return repair(nil, answer)
}

// repair appends an answer with its invalid characters replaced. It reports false if the answer is no object.
func repair(dst, answer []byte) ([]byte, bool) {
	repaired, err := jsontext.AppendFormat(dst, answer, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return repaired, err == nil && len(repaired) > len(dst) && repaired[len(dst)] == '{'
}
