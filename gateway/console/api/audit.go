package api

import (
	"net/http"
	"strconv"

	"sluice/gateway/console/registry"
)

func (a *api) audit(c *call) error {
	text, err := c.cursor()
	if err != nil {
		return err
	}
	var before int64
	if text != "" {
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return errCursor
		}
	}
	most, err := c.most()
	if err != nil {
		return err
	}
	entries, more, err := a.Registry.Audit(c.r.Context(), c.who, registry.AuditQuery{Team: c.query.Get("team"), Before: before, Most: most})
	if err != nil {
		return err
	}
	next := ""
	if more {
		next = strconv.FormatInt(entries[len(entries)-1].Seq, 10)
	}
	return c.write(http.StatusOK, list(entries, next))
}
