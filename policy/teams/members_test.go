package teams_test

import (
	"slices"
	"strings"
	"testing"

	"sluice/policy/teams"
)

func TestMembersOfATeam(t *testing.T) {
	file := parsed(t, "teams:\n  - {id: maps, members: [search-developers, alice@example.com, Karten 地图], self_service: true}\n  - {id: mail}\n")
	maps, mail := file.Team("maps"), file.Team("mail")
	if want := []string{"search-developers", "alice@example.com", "Karten 地图"}; !slices.Equal(maps.Members, want) || !maps.SelfService {
		t.Errorf("maps has members %q, self-service %v", maps.Members, maps.SelfService)
	}
	if mail.Members != nil || mail.SelfService {
		t.Errorf("mail has members %q, self-service %v", mail.Members, mail.SelfService)
	}
}

func TestFaultyMembers(t *testing.T) {
	for given, want := range map[string]string{
		`members: [""]`:                                          `teams[0].members[0]: got "", allowed: a group or an e-mail`,
		`members: [" alice"]`:                                    "without spaces at its ends",
		`members: ["a\u202eb"]`:                                 "allowed: a group or an e-mail",
		`members: [a, b, a]`:                                     `teams[0].members[2]: got "a", allowed: each group and e-mail once`,
		`members: alice`:                                         "got a single value, allowed: a list of groups and e-mails",
		`members: [[a]]`:                                         "got a list, allowed: a group",
		`members: [` + strings.Repeat("a", 201) + `]`:            "1 to 200 characters",
		`members: [` + strings.Repeat("x, y, ", 60) + `z]`:       "each group and e-mail once",
		`members: [m` + strings.Join(numbered(101), ", m") + `]`: "got more than 100, allowed: at most 100",
		`self_service: "yes"`:                                    "teams[0].self_service: got \"yes\", allowed: true or false, without quotes",
		`self_service: perhaps`:                                  "allowed: true or false",
	} {
		faults := faultsOf(t, []byte("teams:\n  - {id: maps, "+given+"}\n"))
		if !strings.Contains(faults.Error(), want) {
			t.Errorf("%.60s: %v, want %s", given, faults, want)
		}
	}
	if _, err := teams.Parse([]byte("defaults: {members: [a]}\nteams: []\n")); err == nil {
		t.Error("the defaults have members")
	}
}

func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, strings.Repeat("i", i))
	}
	return all
}

// A year of five digits cannot be written again.
func TestMomentsThatCannotBeWritten(t *testing.T) {
	for _, moment := range []string{"9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "0000-06-01T00:00:00Z"} {
		key := "{id: aaaaaaaaaaaa, sha256: " + sumOf("test") + ", expires: '" + moment + "'}"
		if faults := faultsOf(t, []byte("teams: [{id: maps, keys: ["+key+"]}]")); !strings.Contains(faults.Error(), "allowed: a time such as") {
			t.Errorf("%s: %v", moment, faults)
		}
		if _, err := teams.ReadDirectory([]byte("teams: [{id: maps, keys: [" + key + "]}]")); err == nil {
			t.Errorf("a directory takes %s", moment)
		}
	}
}

func TestTextOfATeam(t *testing.T) {
	file := parsed(t, fileOfTwo)
	joined, _, err := file.Join([]byte(`{"teams":[{"id":"maps","description":"Karten <&>","concurrent":9}]}`), none)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"search": `{"id":"search","keys":[{"id":"aaaaaaaaaaaa","sha256":"` + sumOf("test") + `"}]}`,
		"ads":    `{"id":"ads"}`,
		"maps":   "",
	} {
		if got := string(joined.Text(id)); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	if joined.DefaultKeyDays() != 30 || (&teams.File{}).DefaultKeyDays() != 0 {
		t.Error("the defaults have another key_days")
	}
}
