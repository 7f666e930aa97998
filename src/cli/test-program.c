/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What wrappers do with the program in their arguments, what is read in ELF files, and that damaged files are read without
 * harm: each length of a file, and random bytes in it. The file is a small one that the test writes.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/testing.h"
#include "cli/doctor_program.h"

#define WORDS_MAX 16

static void wrapped_words(const char *text, char **words, char *copy)
{
	int n = 0;

	strcpy(copy, text);
	for (char *p = copy, *w; n < WORDS_MAX - 1 && (w = strsep(&p, " "));)
		words[n++] = w;
	words[n] = NULL;
}

static void test_wrappers(void **state)
{
	static const struct {
		const char *command;
		int inner;
		bool clears;
	} rows[] = {
		{ "ibv_devices -l", 0, false },
		{ "sudo ibv_devices", 1, true },
		{ "/usr/bin/sudo -nu x --group g A=1 -- ibv_devices", 7, true },
		{ "sudo --user=x ibv_devices", 2, true },
		{ "sudo ruse run ibv_devices", 1, false },
		{ "sudo -E /opt/bin/ruse run ibv_devices", 2, false },
		{ "sudo", 0, true },
		{ "/usr/local/bin/docker exec c x", 0, true },
		{ "./at 5", 0, false },
		{ "build/time x", 0, false },
		{ "/home/x/bin/sudo x", 0, false },
		{ "env A=1 B=2 ibv_devices", 3, false },
		{ "env - ibv_devices", 2, true },
		{ "env -i ibv_devices", 2, true },
		{ "env -vi ibv_devices", 2, true },
		{ "env -u i ibv_devices", 3, false },
		{ "env -ui ibv_devices", 2, false },
		{ "env -u LD_PRELOAD ibv_devices", 3, true },
		{ "env -uLD_PRELOAD ibv_devices", 2, true },
		{ "env --unset=LD_PRELOAD ibv_devices", 2, true },
		{ "env --unset LD_PRELOAD ibv_devices", 3, true },
		{ "env LD_PRELOAD= ibv_devices", 2, true },
		{ "env -i LD_PRELOAD=/x/libruse.so ibv_devices", 3, false },
		{ "timeout -s KILL 5 sudo x", 4, false },
		{ "timeout --signal KILL --foreground 5 x", 5, false },
		{ "taskset -c 0 x", 3, false },
		{ "nice x -i", 1, false },
		{ "runuser -u x -- y -l", 4, false },
		{ "runuser - x", 2, true },
		{ "setpriv --reset-env x", 2, true },
		{ "setpriv --reuid 5 x --reset-env", 3, false },
		{ "docker exec c x", 0, true },
		{ "bwrap --unsetenv LD_PRELOAD x", 0, true },
		{ "bwrap --bind / / x", 0, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *words[WORDS_MAX], copy[128];
		struct wrapped w;

		wrapped_words(rows[i].command, words, copy);
		wrapped_parse(words, &w);
		if (w.inner != rows[i].inner || !!w.clears != rows[i].clears)
			fail_msg("%s: program %d, %s", rows[i].command, w.inner,
				 w.clears ?: "keeps");
		free(w.split);
	}
}

static void test_split(void **state)
{
	char *words[] = { (char *)"env", (char *)"-S", (char *)"a b", (char *)"script", NULL };
	struct wrapped w;

	wrapped_parse(words, &w);
	assert_string_equal(w.split, "a b");
	assert_int_equal(w.inner, 0);
	free(w.split);
}

/* A program with a loader, a dynamic section with strings, a note of Go, and sections of versions and symbols. */
struct image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[4];
	char interp[32];
	struct {
		Elf64_Nhdr head;
		char name[4], id[4];
	} note;
	char str[128];
	Elf64_Dyn dyn[10];
	Elf64_Sym sym[2];
	struct {
		Elf64_Verdef def;
		Elf64_Verdaux aux;
	} version;
	char text[64];
	Elf64_Shdr sh[4];
};

#define AT(member) offsetof(struct image, member)

/* Appends a string to the table; its offset. */
static Elf64_Word image_text(struct image *m, const char *text)
{
	Elf64_Word at = 1;

	while (m->str[at])
		at += (Elf64_Word)strlen(m->str + at) + 1;
	assert_true(at + strlen(text) + 1 < sizeof(m->str));
	strcpy(m->str + at, text);
	return at;
}

static void image_make(struct image *m)
{
	*m = (struct image){ .interp = "/lib/ld-test.so",
			     .text = "x\0/etc/libibverbs.d\0lib%s-rdmav34.so" };
	m->note.head = (Elf64_Nhdr){ 4, 4, 4 };
	memcpy(m->note.name, "Go", 3);
	memcpy(m->eh.e_ident, ELFMAG, SELFMAG);
	m->eh.e_ident[EI_CLASS] = ELFCLASS64;
	m->eh.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB :
									     ELFDATA2MSB;
	m->eh.e_ident[EI_VERSION] = EV_CURRENT;
	m->eh.e_type = ET_DYN;
	m->eh.e_machine = EM_AARCH64;
	m->eh.e_version = EV_CURRENT;
	m->eh.e_phoff = AT(ph);
	m->eh.e_shoff = AT(sh);
	m->eh.e_ehsize = sizeof(m->eh);
	m->eh.e_phentsize = sizeof(m->ph[0]);
	m->eh.e_phnum = ARRAY_SIZE(m->ph);
	m->eh.e_shentsize = sizeof(m->sh[0]);
	m->eh.e_shnum = ARRAY_SIZE(m->sh);
	m->ph[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x1000, .p_filesz = sizeof(*m)
	};
	m->ph[1] = (Elf64_Phdr){ .p_type = PT_INTERP,
				 .p_offset = AT(interp),
				 .p_filesz = sizeof("/lib/ld-test.so") };
	m->ph[2] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				 .p_offset = AT(dyn),
				 .p_filesz = sizeof(m->dyn) };
	m->ph[3] = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_offset = AT(note), .p_filesz = sizeof(m->note), .p_align = 4
	};
	m->dyn[0] = (Elf64_Dyn){ DT_STRTAB, { 0x1000 + AT(str) } };
	m->dyn[1] = (Elf64_Dyn){ DT_STRSZ, { sizeof(m->str) } };
	m->dyn[2] = (Elf64_Dyn){ DT_NEEDED, { image_text(m, "libone.so") } };
	m->dyn[3] = (Elf64_Dyn){ DT_NEEDED, { image_text(m, "libtwo.so") } };
	m->dyn[4] = (Elf64_Dyn){ DT_SONAME, { image_text(m, "self") } };
	m->dyn[5] = (Elf64_Dyn){ DT_RPATH, { image_text(m, "/r") } };
	m->dyn[6] = (Elf64_Dyn){ DT_FLAGS_1, { DF_1_PIE | DF_1_NODEFLIB } };
	m->sym[1] = (Elf64_Sym){ .st_name = image_text(m, "mlx5dv_x") };
	m->version.def =
		(Elf64_Verdef){ .vd_version = 1, .vd_cnt = 1, .vd_aux = sizeof(Elf64_Verdef) };
	m->version.aux = (Elf64_Verdaux){ .vda_name = image_text(m, "IBVERBS_PRIVATE_34") };
	m->sh[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				 .sh_offset = AT(str),
				 .sh_size = sizeof(m->str) };
	m->sh[2] = (Elf64_Shdr){ .sh_type = SHT_DYNSYM,
				 .sh_offset = AT(sym),
				 .sh_size = sizeof(m->sym),
				 .sh_link = 1,
				 .sh_entsize = sizeof(m->sym[0]),
				 .sh_addralign = 8 };
	m->sh[3] = (Elf64_Shdr){ .sh_type = SHT_GNU_verdef,
				 .sh_offset = AT(version),
				 .sh_size = sizeof(m->version),
				 .sh_link = 1,
				 .sh_info = 1,
				 .sh_addralign = 8 };
}

static char file[] = "/tmp/ruse-test-program-XXXXXX";

static void image_write(const void *m, size_t size)
{
	int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0 && write(fd, m, size) == (ssize_t)size);
	close(fd);
}

static bool image_last(const char *s, void *arg)
{
	snprintf(arg, 64, "%s", s);
	return false;
}

static void test_read(void **state)
{
	struct binary b, other = { .bits = ELFCLASS64, .data = ELFDATA2LSB, .machine = EM_X86_64 };
	char text[64] = "", *vendor;
	struct image m;

	image_make(&m);
	image_write(&m, sizeof(m));
	assert_int_equal(binary_read(file, &b), 0);
	assert_string_equal(b.interp, "/lib/ld-test.so");
	assert_int_equal(b.needed_n, 2);
	assert_string_equal(b.needed[0], "libone.so");
	assert_string_equal(b.needed[1], "libtwo.so");
	assert_string_equal(b.soname, "self");
	assert_string_equal(b.rpath, "/r");
	assert_null(b.runpath);
	assert_true(b.executable && b.no_default && b.go);
	vendor = binary_vendor(file);
	assert_string_equal(vendor, "mlx5dv_x");
	free(vendor);
	assert_int_equal(b.private_abi, 34);
	assert_string_equal(binary_machine(&b), "arm64");
	assert_false(binary_same_machine(&b, &other));
	binary_free(&b);
	assert_false(binary_strings(file, "libibverbs.d", image_last, text));
	assert_string_equal(text, "/etc/libibverbs.d");
	/* The loader ignores DT_RPATH beside DT_RUNPATH. */
	m.dyn[7] = (Elf64_Dyn){ DT_RUNPATH, { m.dyn[5].d_un.d_val } };
	image_write(&m, sizeof(m));
	assert_int_equal(binary_read(file, &b), 0);
	assert_string_equal(b.runpath, "/r");
	assert_null(b.rpath);
	binary_free(&b);
	assert_int_equal(binary_read("/nosuch", &b), -ENOENT);
	assert_int_equal(binary_read("/dev/null", &b), -EINVAL);
	assert_int_equal(binary_read("/", &b), -EISDIR);
}

static int image_read(void)
{
	char text[64];
	struct binary b;
	int rc = binary_read(file, &b);

	binary_free(&b);
	free(binary_vendor(file));
	binary_strings(file, "lib", image_last, text);
	return rc;
}

static void test_damaged(void **state)
{
	struct image m, bad;
	struct prng p;
	int accepted = 0;

	image_make(&m);
	for (size_t len = 0; len < sizeof(m); len++) {
		image_write(&m, len);
		if (len < sizeof(m.eh))
			assert_true(image_read() < 0);
		else
			image_read();
	}
	test_seed(&p);
	for (int i = 0; i < 1500; i++) {
		bad = m;
		/* Not the first bytes, without which the file is no ELF file. */
		for (uint32_t k = prng_below(&p, 4) + 1; k; k--)
			((uint8_t *)&bad)[EI_NIDENT + prng_below(&p, sizeof(bad) - EI_NIDENT)] =
				prng_below(&p, 3) ? (uint8_t)prng_u64(&p) : 0xff;
		image_write(&bad, sizeof(bad));
		accepted += !image_read();
	}
	assert_true(accepted > 300);
}

/* Sections that are larger than any of a true library, in a sparse file, are not loaded. */
static void test_large(void **state)
{
	const uint64_t large = 1 << 30;

	for (int i = 1; i <= 3; i++) {
		struct image m;
		struct binary b;
		char *vendor;

		image_make(&m);
		m.sh[i].sh_size = large;
		image_write(&m, sizeof(m));
		assert_int_equal(truncate(file, (off_t)(large + sizeof(m))), 0);
		assert_int_equal(binary_read(file, &b), 0);
		assert_int_equal(b.private_abi, i == 2 ? 34 : 0);
		assert_int_equal(b.needed_n, 2);
		vendor = binary_vendor(file);
		assert_int_equal(!vendor, i != 3);
		free(vendor);
		binary_free(&b);
	}
}

/* Of two dynamic sections the first is read. */
static void test_dynamic(void **state)
{
	struct image m;
	struct binary b;

	image_make(&m);
	m.ph[3] = m.ph[2];
	image_write(&m, sizeof(m));
	assert_int_equal(binary_read(file, &b), 0);
	assert_int_equal(b.needed_n, 2);
	binary_free(&b);
}

/* A FIFO is not opened: its writer would go on. */
static void test_fifo(void **state)
{
	static char path[] = "/tmp/ruse-test-fifo-XXXXXX";
	char events[256];
	struct binary b;
	int fd = mkstemp(path), in = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	assert_true(fd >= 0 && in >= 0);
	close(fd);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(inotify_add_watch(in, path, IN_OPEN) >= 0);
	assert_int_equal(binary_read(path, &b), -EINVAL);
	assert_int_equal(binary_open_file(path), -EINVAL);
	assert_true(read(in, events, sizeof(events)) < 0 && errno == EAGAIN);
	close(in);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrappers),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_dynamic),
		cmocka_unit_test(test_fifo),
	};
	int fd = mkstemp(file), rc;
	struct binary b;

	if (fd < 0)
		return 1;
	close(fd);
	/* Without libelf there is nothing to test in files. */
	rc = binary_read(file, &b) == -ENOSYS ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return rc;
}
