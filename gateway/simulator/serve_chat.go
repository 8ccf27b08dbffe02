package simulator

import (
	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/chat"
	"sluice/gateway/simulator/rules"
)

// serveText answers the text path.
func (s *Simulator) serveText(c *call) (answer.Answer, error) {
	if err := s.rules.Text(&c.req); err != nil {
		return answer.Answer{}, err
	}
	return chat.Answer(&c.req, chat.Settings{
		Style: s.style(c), MaxOutput: s.cfg.MaxOutput, TextFormat: s.rules.ResultFormat(&c.req) == "text",
	}), nil
}

// serveMultimodal answers the path that chat, synchronous images and interleaved streams share.
func (s *Simulator) serveMultimodal(c *call) (answer.Answer, error) {
	p := c.req.Parameters()
	switch {
	case rules.Matches(s.cfg.SyncImageModels, c.req.Model):
		return s.serveSyncImage(c)
	case rules.Matches(s.cfg.EditImageModels, c.req.Model) && (c.req.SSE || p.Flag("stream") || p.Flag("enable_interleave")):
		return s.serveInterleaved(c)
	}
	if err := s.rules.Chat(&c.req); err != nil {
		return answer.Answer{}, err
	}
	return chat.Answer(&c.req, chat.Settings{Style: s.style(c), MaxOutput: s.cfg.MaxOutput, Multimodal: true}), nil
}

// style is the form of the call's answer.
func (s *Simulator) style(c *call) answer.Style {
	return answer.Style{RequestID: c.received.ID, FrameTokens: s.cfg.FrameTokens, NullFinish: s.cfg.NullFinish}
}
