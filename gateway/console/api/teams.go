package api

import (
	"net/http"

	"sluice/gateway/console/registry"
)

func (a *api) teams(c *call) error {
	after, err := c.cursor()
	if err != nil {
		return err
	}
	most, err := c.most()
	if err != nil {
		return err
	}
	found, more, err := a.Registry.List(c.r.Context(), c.who, after, most)
	if err != nil {
		return err
	}
	next := ""
	if more {
		next = found[len(found)-1].ID
	}
	return c.write(http.StatusOK, list(found, next))
}

func (a *api) team(c *call) error {
	t, err := a.Registry.Show(c.r.Context(), c.who, c.parts["id"])
	return c.show(http.StatusOK, t, err)
}

// show answers with a team and its ETag.
func (c *call) show(status int, t registry.Team, err error) error {
	if err != nil {
		return err
	}
	c.w.Header().Set("ETag", t.ETag)
	return c.write(status, t)
}

func (a *api) createTeam(c *call) error {
	d, err := c.draft()
	if err != nil {
		return err
	}
	t, err := a.Registry.Create(c.r.Context(), c.actor(), d)
	if err == nil {
		c.w.Header().Set("Location", Prefix+"/teams/"+t.ID)
	}
	return c.show(http.StatusCreated, t, err)
}

func (a *api) replaceTeam(c *call) error {
	id, ifMatch := c.parts["id"], c.r.Header.Get("If-Match")
	if _, err := a.Registry.Show(c.r.Context(), c.who, id); err != nil { // whatever else is wrong, a foreign team is not there
		return err
	}
	d, err := c.draft()
	switch {
	case err != nil:
		return err
	case d.ID != "" && d.ID != id:
		return &registry.Error{Field: "id", Text: "not the team of the path", Allowed: "the path's, or no such member", Advice: "to rename a team, make another one"}
	case ifMatch == "":
		return errNoMatch
	}
	d.ID = id
	t, err := a.Registry.Replace(c.r.Context(), c.actor(), d, ifMatch)
	return c.show(http.StatusOK, t, err)
}

// deleteTeam disables a team, which is removed later: 202 with the team.
func (a *api) deleteTeam(c *call) error {
	t, err := a.Registry.Delete(c.r.Context(), c.actor(), c.parts["id"], c.r.Header.Get("If-Match"))
	return c.show(http.StatusAccepted, t, err)
}
