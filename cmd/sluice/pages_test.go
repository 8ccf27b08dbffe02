package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/cmd/sluice/settings"
	"sluice/policy/teams"
)

// The README and docs/ are checked against the program: settings, teams files, links, length, and the map of the source.

// documents are the README and all of docs/, by their paths from the top of the checkout.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{"README.md": readRoot(t, "README.md")}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(names), err)
		}
		for _, name := range names {
			name = strings.TrimPrefix(filepath.ToSlash(name), "../../")
			texts[name] = readRoot(t, name)
		}
	}
	return texts
}

func TestSettingsPageListsEverySettingWithItsDefault(t *testing.T) {
	listed := make(map[string]string)
	for _, row := range regexp.MustCompile("(?m)^\\| `(SLUICE_[A-Z_]+)` \\| (.+?) \\| (.+?) \\| .+ \\|$").
		FindAllStringSubmatch(readRoot(t, "docs/settings.md"), -1) {
		if _, twice := listed[row[1]]; twice {
			t.Errorf("%s is listed twice", row[1])
		}
		listed[row[1]] = strings.Trim(row[2], "`")
		if row[2] == "–" || row[2] == "required" {
			listed[row[1]] = ""
		}
	}
	if diff := cmp.Diff(defaults(), listed); diff != "" {
		t.Errorf("defaults and docs/settings.md differ (-settings +page):\n%s", diff)
	}
}

func TestPagesNameOnlySettingsThatExist(t *testing.T) {
	named := regexp.MustCompile(`\bSLUICE_[A-Z][A-Z_]*\b`)
	for page, text := range documents(t) {
		for _, name := range named.FindAllString(text, -1) {
			if !slices.Contains(settings.Names, name) && !slices.ContainsFunc(settings.Injected,
				func(start string) bool { return strings.HasPrefix(name, start) }) {
				t.Errorf("%s names %s, an unknown setting", page, name)
			}
		}
	}
}

// TestPagesShowTeamsFilesThatAreAccepted: a page may show a part of a team, and an accounts file; every block must parse.
func TestPagesShowTeamsFilesThatAreAccepted(t *testing.T) {
	blocks := 0
	for page, text := range documents(t) {
		for _, block := range regexp.MustCompile("(?s)\n```yaml\n(.+?)```\n").FindAllStringSubmatch(text, -1) {
			content := block[1]
			if strings.HasPrefix(content, "    ") {
				content = "teams:\n  - id: search\n" + content
			}
			_, err := teams.Parse([]byte(content))
			if strings.HasPrefix(content, "accounts:") {
				_, err = teams.ParseAccounts([]byte(content))
			}
			if err != nil {
				t.Errorf("%s shows a file that is refused: %v\n%s", page, err, content)
			}
			blocks++
		}
	}
	if blocks < 4 {
		t.Errorf("%d blocks were found, want at least 4", blocks)
	}
}

func TestReadmeIsShort(t *testing.T) {
	const most = 220
	if lines := strings.Count(readRoot(t, "README.md"), "\n"); lines > most {
		t.Errorf("README.md has %d lines, at most %d are allowed: details belong into docs/", lines, most)
	}
}

// anchorsOf are the anchors of a page's headings in links.
func anchorsOf(text string) (names []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	texts := documents(t)
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]+))?\)`)
	for page, text := range texts {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			target := page
			if match[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), match[1]))
			}
			if _, err := os.Stat("../../" + target); err != nil {
				t.Errorf("%s leads to %s, which does not exist", page, match[1])
			} else if match[2] != "" && !slices.Contains(anchorsOf(texts[target]), match[2]) {
				t.Errorf("%s leads to %s#%s, an unknown heading", page, match[1], match[2])
			}
		}
	}
}

// TestPicturesAreSmallAndShown: every picture is on a page, and none makes a clone slow.
func TestPicturesAreSmallAndShown(t *testing.T) {
	const most, mostInAll = 80 << 10, 500 << 10
	names, err := filepath.Glob("../../docs/images/*/*")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d pictures, %v", len(names), err)
	}
	all := ""
	for _, text := range documents(t) {
		all += text
	}
	sum := int64(0)
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if sum += info.Size(); info.Size() > most {
			t.Errorf("%s has %d bytes, want at most %d", name, info.Size(), most)
		}
		if shown := strings.TrimPrefix(filepath.ToSlash(name), "../../docs/"); !strings.Contains(all, "("+shown+")") {
			t.Errorf("no page shows %s", shown)
		}
	}
	if sum > mostInAll {
		t.Errorf("the pictures have %d bytes, want at most %d", sum, mostInAll)
	}
}

// TestPagesAreReached: a reader who starts at the README finds every page.
func TestPagesAreReached(t *testing.T) {
	readme := readRoot(t, "README.md")
	for page := range documents(t) {
		if page != "README.md" && !strings.Contains(readme, "("+page+")") {
			t.Errorf("README.md has no link to %s", page)
		}
	}
}

// TestReadmeMapsTheSource: every package is in the map, by its name or as one below `its/parent/…`, and every file in the map is
// in its package.
func TestReadmeMapsTheSource(t *testing.T) {
	_, section, _ := strings.Cut(readRoot(t, "README.md"), "\n## Where things are\n")
	section, _, _ = strings.Cut(section, "\n## ")
	packages := make(map[string][]string) // directory → its files without tests
	for _, pattern := range []string{"../../*/*.go", "../../*/*/*.go", "../../*/*/*/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			directory := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../../")
			if !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(directory, "test") {
				packages[directory] = append(packages[directory], filepath.Base(name))
			}
		}
	}
	for directory := range packages {
		inRow := strings.Contains(section, "`"+directory+"`") || strings.Contains(section, "`"+filepath.ToSlash(filepath.Dir(directory))+"/…`")
		if !inRow {
			t.Errorf("README.md does not describe %s", directory)
		}
	}
	named := regexp.MustCompile("((?:`[a-z_]+\\.go`(?:, )?)+) in `([a-z/]+)`")
	for _, match := range named.FindAllStringSubmatch(section, -1) {
		files := packages[match[2]]
		for _, file := range regexp.MustCompile(`[a-z_]+\.go`).FindAllString(match[1], -1) {
			if !slices.Contains(files, file) {
				t.Errorf("README.md names %s in %s, a file that does not exist", file, match[2])
			}
		}
	}
}

var (
	keyOfPackage  = regexp.MustCompile(`(?m)^//\t(sl1:[^\s,]+)`)
	keyOfPage     = regexp.MustCompile("`((?:sl1:|…|:)[^`]+)`")
	placeholderOf = regexp.MustCompile(`<[^>]*>|\b[A-Z]+\b|…`)
)

// wordsOfKey are the fixed words of a key's name: its team and other parts that vary are left out.
func wordsOfKey(name string) string {
	name = regexp.MustCompile(`\{(?:<owner>|<team>|TEAM|team)\}`).ReplaceAllString(name, "{}")
	return strings.Join(slices.DeleteFunc(strings.Split(placeholderOf.ReplaceAllString(name, ""), ":"),
		func(word string) bool { return word == "" }), ":")
}

// TestTheArchitectureNamesTheKeysInRedis: each key that a package's comment lists is in the page's table.
func TestTheArchitectureNamesTheKeysInRedis(t *testing.T) {
	_, section, _ := strings.Cut(readRoot(t, "docs/architecture.md"), "\n## Keys in Redis\n")
	section, _, _ = strings.Cut(section, "\n## ")
	whole, ends := map[string]bool{}, []string{}
	for _, name := range keyOfPage.FindAllStringSubmatch(section, -1) {
		if strings.HasPrefix(name[1], "sl1:") {
			whole[wordsOfKey(name[1])] = true
		} else if words := wordsOfKey(name[1]); words != "" {
			ends = append(ends, ":"+words)
		}
	}
	listed := 0
	for _, file := range []string{"cache/redis_store.go", "gateway/console/figures/kept.go", "policy/event/outbox/doc.go",
		"policy/limit/redisstore/doc.go"} {
		for _, name := range keyOfPackage.FindAllStringSubmatch(readRoot(t, file), -1) {
			words := wordsOfKey(name[1])
			listed++
			if !whole[words] && !slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(words, end) }) {
				t.Errorf("docs/architecture.md lacks %s of %s", name[1], file)
			}
		}
	}
	if listed < 40 {
		t.Errorf("%d keys were read", listed)
	}
}
