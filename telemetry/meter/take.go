package meter

import (
	"math"
	"strings"
)

// entered is called for every object at a known place when it opens.
func (m *Meter) entered(p place) {
	switch p {
	case placeChoice:
		m.slot = m.choices
		m.choices = min(m.choices+1, proseSlots-1)
		m.reason = ""
	case placeToolCall:
		m.hasContent = true
	case placeUsage:
		if top := m.depth - 1; m.levels[top-1].place == placeUsage {
			if m.pathLen < maxPath {
				m.path[m.pathLen] = '.'
				m.pathLen++
			}
			m.levels[top].prefix = m.pathLen
		}
	}
}

// left is called for every object at a known place when it closes.
func (m *Meter) left(p place) {
	if p == placeChoice {
		m.endChoice(m.reason)
	}
}

// takeName returns the place of the member whose name was read.
func (m *Meter) takeName(name []byte) place {
	top := &m.levels[m.depth-1]
	if m.over {
		return nowhere
	}
	if top.place == placeUsage {
		if int(top.prefix)+len(name) > maxPath {
			return nowhere
		}
		m.pathLen = top.prefix + uint8(copy(m.path[top.prefix:], name))
	}
	return top.place.into(name)
}

// takeString takes a whole string value.
func (m *Meter) takeString(token []byte) {
	if m.place == placeImage {
		m.hasContent = m.pictures.endAddress() || m.hasContent
		return
	}
	if m.place == placeErrorMessage {
		if len(token) > 0 { // an empty one says that all is well there; the other place may know more
			m.frame.message = strings.ToValidUTF8(string(token), "")
		}
		return
	}
	if m.over {
		return
	}
	switch m.place {
	case placeRequestID:
		keepString(&m.responseID, token)
	case placeTaskID:
		keepString(&m.taskID, token)
	case placeTaskStatus:
		keepString(&m.taskStatus, token)
	case placeCode:
		if len(token) > 0 {
			m.frame.code = string(token)
		}
	case placeFinishReason:
		m.takeReason(finishWord(token))
	case placeNumber:
		m.odd = m.odd || m.field() < fieldCount
	}
}

// takeWord takes a whole number or literal.
func (m *Meter) takeWord(token []byte) {
	switch m.place {
	case placeNumber:
		m.takeNumber(token)
	case placeFinished:
		m.finished = m.finished || string(token) == "true"
	case placeStatusCode:
		if n, ok := parseNumber(token); ok && n >= 100 && n < 1000 {
			m.frame.status = int(n)
		}
	case placeIndex:
		if n, ok := parseNumber(token); ok && n >= 0 {
			m.slot = int8(min(n, proseSlots-1))
		}
	}
}

// takeNumber takes a number of the usage. What cannot be an amount is ignored, but not silently.
func (m *Meter) takeNumber(token []byte) {
	f := m.field()
	switch string(token) {
	case "null": // the interface has it for the tokens of pictures, video and sound
		m.odd = m.odd || f <= ImageCount
		return
	case "true", "false":
		m.odd = m.odd || f < fieldCount
		return
	}
	n, ok := parseNumber(token)
	switch {
	case !ok || m.over || n < 0 || n > maxNumber:
		m.odd = true
	case f == fieldCount:
		m.odd = !m.usage.raiseOther(m.path[:m.pathLen], n) || m.odd
	case n != math.Trunc(n):
		m.odd = true
	default:
		m.usage.Raise(f, int64(n))
	}
}

// field names the usage number at the path, fieldCount if Sluice does not know it.
func (m *Meter) field() Field {
	switch string(m.path[:m.pathLen]) {
	case "input_tokens":
		return InputTokens
	case "output_tokens":
		return OutputTokens
	case "total_tokens":
		return TotalTokens
	case "image_count":
		return ImageCount
	case "image_tokens", "input_tokens_details.image_tokens":
		return ImageTokens
	case "video_tokens", "input_tokens_details.video_tokens":
		return VideoTokens
	case "audio_tokens", "input_tokens_details.audio_tokens":
		return AudioTokens
	case "cached_tokens", "prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens":
		return CachedTokens
	case "cache_creation_input_tokens", "prompt_tokens_details.cache_creation_input_tokens",
		"input_tokens_details.cache_creation_input_tokens":
		return CacheCreationTokens
	case "reasoning_tokens", "output_tokens_details.reasoning_tokens":
		return ReasoningTokens
	}
	return fieldCount
}

// takeReason takes a finish reason: a choice's is kept until the choice is closed, because its index may come later.
func (m *Meter) takeReason(reason string) {
	if m.levels[m.depth-1].place == placeChoice {
		m.reason = reason
		return
	}
	m.slot = 0
	m.endChoice(reason)
}

func (m *Meter) endChoice(reason string) {
	m.seen |= 1 << m.slot
	if reason != "" && m.reasons[m.slot] != reason {
		m.reasons[m.slot] = reason
	}
}

// finishWord returns the usual reasons without allocating, and "" for the string "null", which is no reason.
func finishWord(token []byte) string {
	switch string(token) {
	case "stop":
		return "stop"
	case "length":
		return "length"
	case "tool_calls":
		return "tool_calls"
	case "null":
		return ""
	}
	return string(token)
}

// keepString sets s, allocating only when it changes: every frame of a stream repeats these values.
func keepString(s *string, token []byte) {
	if *s != string(token) {
		*s = string(token)
	}
}
