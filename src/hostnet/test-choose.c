/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables: interfaces, default routes and RUSE_NETDEV -> devices, their interfaces, and why. */
#include <errno.h>

#include "base/testing.h"

#include "hostnet/choose.h"

/*
 * An interface in a table is NAME:FLAGS. U: up, C: carrier, L: loopback, A: address, B: bridge. Its
 * ifindex is its place, from 1.
 */
struct world {
	struct choice_if ifs[64];
	struct choice_net net;
};

static void world_of(struct world *w, const char *text)
{
	memset(w, 0, sizeof(*w));
	w->net.ifs = w->ifs;
	while (*text) {
		struct choice_if *i = &w->ifs[w->net.n++];
		size_t len = strcspn(text, ":");

		i->ifindex = w->net.n;
		memcpy(i->name, text, len);
		text += len + (text[len] == ':');
		for (; *text && *text != ' '; text++) {
			i->up |= *text == 'U';
			i->carrier |= *text == 'C';
			i->loopback |= *text == 'L';
			i->addr |= *text == 'A';
			i->bridge |= *text == 'B';
		}
		text += *text == ' ';
	}
}

static void test_auto(void **state)
{
	static const struct {
		const char *ifs;
		uint32_t route4, route6;
		const char *ndev;
		enum choice_why why;
	} rows[] = {
		/* The default route decides, IPv4's before IPv6's, whatever the interface is. */
		{ "lo:UCLA a:UCA b:UCA", 3, 0, "b", CHOICE_WHY_ROUTE4 },
		{ "lo:UCLA a:UCA b:UCA", 0, 3, "b", CHOICE_WHY_ROUTE6 },
		{ "lo:UCLA a:UCA b:UCA", 2, 3, "a", CHOICE_WHY_ROUTE4 },
		{ "lo:UCLA a:UCA b:UCBA", 3, 0, "b", CHOICE_WHY_ROUTE4 },
		{ "lo:UCLA a:UCA", 1, 0, "lo", CHOICE_WHY_ROUTE4 },
		/* The interface of the route has gone meanwhile. */
		{ "lo:UCLA a:UCA", 9, 0, "a", CHOICE_WHY_FIRST },
		{ "lo:UCLA a:UCA b:UCA", 9, 3, "b", CHOICE_WHY_ROUTE6 },
		/* No default route: up, with an address. */
		{ "lo:UCLA a:UCA", 0, 0, "a", CHOICE_WHY_FIRST },
		{ "lo:UCLA a:UCA b:UCA", 0, 0, "a", CHOICE_WHY_FIRST },
		{ "lo:UCLA a:CA b:UCA", 0, 0, "b", CHOICE_WHY_FIRST },
		{ "lo:UCLA a:UC b:UCA", 0, 0, "b", CHOICE_WHY_FIRST },
		{ "lo:UCLA a:UA b:UCA", 0, 0, "b", CHOICE_WHY_FIRST },
		{ "lo:UCLA a:UA", 0, 0, "a", CHOICE_WHY_FIRST },
		{ "a:UCA lo:UCLA", 0, 0, "a", CHOICE_WHY_FIRST },
		/* Bridges come after everything else, with or without carrier. */
		{ "lo:UCLA docker0:UCBA a:UCA", 0, 0, "a", CHOICE_WHY_FIRST },
		{ "lo:UCLA docker0:UCBA a:UA", 0, 0, "a", CHOICE_WHY_FIRST },
		{ "lo:UCLA docker0:UBA virbr0:UCBA", 0, 0, "virbr0", CHOICE_WHY_BRIDGE },
		{ "lo:UCLA docker0:UBA a:UC", 0, 0, "docker0", CHOICE_WHY_BRIDGE },
		/* lo. */
		{ "lo:UCLA", 0, 0, "lo", CHOICE_WHY_LO },
		{ "lo:L", 0, 0, "lo", CHOICE_WHY_LO },
		{ "lo:UCLA a:UC b:CA", 0, 0, "lo", CHOICE_WHY_LO },
	};
	struct choice out[CHOICE_MAX];
	struct world w;
	char why[160];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world_of(&w, rows[i].ifs);
		w.net.route4 = rows[i].route4;
		w.net.route6 = rows[i].route6;
		for (int empty = 0; empty < 2; empty++) {
			assert_int_equal(choose_netdevs(&w.net, empty ? "" : NULL, out, why,
							sizeof(why)), 1);
			assert_string_equal(out[0].dev, "rxe_0");
			assert_string_equal(out[0].on.name, rows[i].ndev);
			assert_int_equal(out[0].why, rows[i].why);
		}
	}
	world_of(&w, "");
	assert_int_equal(choose_netdevs(&w.net, NULL, out, why, sizeof(why)), -ENODEV);
	assert_non_null(strstr(why, "no network interface"));
}

/* The devices as text: "DEV=IF", or "DEV=IF!" if why is CHOICE_WHY_LO, with spaces between them. */
static const char *devices(const struct world *w, const char *spec, char *why, size_t size)
{
	struct choice out[CHOICE_MAX];
	static char text[4096];
	int n = choose_netdevs(&w->net, spec, out, why, size);

	*text = '\0';
	for (int i = 0; i < n; i++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s=%s%s", i ? " " : "", out[i].dev,
			 out[i].on.name, out[i].why == CHOICE_WHY_LO ? "!" : "");
		assert_true(out[i].why == CHOICE_WHY_LO || out[i].why == CHOICE_WHY_NAMED);
	}
	return n < 0 ? why : text;
}

static void test_named(void **state)
{
	static const char ifs[] = "lo:UCLA a:UCA b:UC c:UCBA d:";
	static const struct {
		const char *spec, *want;
		uint32_t route4;
	} rows[] = {
		/* A named interface need not be up. */
		{ "b", "rxe_0=b", 2 },
		{ "d", "rxe_0=d", 2 },
		{ "lo", "rxe_0=lo", 2 },
		{ "b,a", "rxe_0=b rxe_1=a", 0 },
		{ "x=b", "x=b", 0 },
		{ "a,x=b,c", "x=b rxe_0=a rxe_1=c", 0 },
		{ "a,rxe_0=b", "rxe_0=b rxe_1=a", 0 },
		{ "all", "rxe_0=a rxe_1=c", 0 },
		{ "all", "rxe_0=c rxe_1=a", 4 },
		{ "x", "there is no network interface 'x', only lo, a, b, c, d", 2 },
		{ "a,x", "there is no network interface 'x', only lo, a, b, c, d", 0 },
		{ "abcdefghijklmnop", "there is no network interface 'abcdefghijklmnop', only lo, a, b, c, d", 0 },
		{ "a,a", "interface a is named twice", 0 },
		{ "a,x=a", "interface a is named twice", 0 },
		{ "x=a,x=b", "two devices have the name x", 0 },
		{ ",", "'' is neither INTERFACE nor NAME=INTERFACE", 0 },
		{ "a,", "'' is neither INTERFACE nor NAME=INTERFACE", 0 },
		{ "=a", "'=a' is neither INTERFACE nor NAME=INTERFACE", 0 },
		{ "x=", "'x=' is neither INTERFACE nor NAME=INTERFACE", 0 },
		{ "..=a", "'..=a' is neither INTERFACE nor NAME=INTERFACE", 0 },
		{ "x/y=a", "'x/y=a' is neither INTERFACE nor NAME=INTERFACE", 0 },
		{ "x y=a", "'x y=a' is neither INTERFACE nor NAME=INTERFACE", 0 },
	};
	struct world w;
	char why[160];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world_of(&w, ifs);
		w.net.route4 = rows[i].route4;
		assert_string_equal(devices(&w, rows[i].spec, why, sizeof(why)), rows[i].want);
	}
	world_of(&w, "lo:UCLA b:UC");
	assert_string_equal(devices(&w, "all", why, sizeof(why)), "rxe_0=lo!");
}

static void test_limits(void **state)
{
	struct choice out[CHOICE_MAX];
	char spec[1024] = "", why[40];
	struct world w;

	world_of(&w, "");
	for (uint32_t i = 0; i < CHOICE_MAX + 1; i++) {
		struct choice_if *it = &w.ifs[w.net.n++];

		it->ifindex = w.net.n;
		it->up = it->addr = true;
		snprintf(it->name, sizeof(it->name), "interface%u", i);
		snprintf(spec + strlen(spec), sizeof(spec) - strlen(spec), "%s%s", i ? "," : "",
			 it->name);
	}
	assert_int_equal(choose_netdevs(&w.net, "all", out, why, sizeof(why)), CHOICE_MAX);
	assert_int_equal(choose_netdevs(&w.net, spec, out, why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "more than 32 interfaces");
	*strrchr(spec, ',') = '\0';
	assert_int_equal(choose_netdevs(&w.net, spec, out, why, sizeof(why)), CHOICE_MAX);
	assert_string_equal(out[CHOICE_MAX - 1].dev, "rxe_31");
	/* The message is cut, not written past its end. */
	assert_int_equal(choose_netdevs(&w.net, "nothere", out, why, sizeof(why)), -ENODEV);
	assert_int_equal(strlen(why), sizeof(why) - 1);
}

static void test_open(void **state)
{
	for (int i = 0; i < CHOICE_NWHY; i++)
		assert_non_null(choice_texts[i]);
	assert_false(choice_is_open(CHOICE_WHY_ADDED));
	assert_false(choice_is_open(CHOICE_WHY_NAMED));
	assert_true(choice_is_open(CHOICE_WHY_ROUTE4));
	assert_true(choice_is_open(CHOICE_WHY_LO));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_auto),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
