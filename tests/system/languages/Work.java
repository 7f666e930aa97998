// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Direct and mapped buffers, threads, collections and children: what it prints is the same in each run. */
class Work {
	static String digest(ByteBuffer data) throws Exception {
		MessageDigest sha = MessageDigest.getInstance("SHA-256");
		sha.update(data);
		StringBuilder s = new StringBuilder();
		for (byte b : sha.digest())
			s.append(String.format("%02x", b));
		return s.substring(0, 16);
	}

	static byte[] blob(long seed, int size) {
		byte[] b = new byte[size];
		new Random(seed).nextBytes(b);
		return b;
	}

	static String churn(long seed) throws Exception {
		List<ByteBuffer> direct = new ArrayList<>();
		List<byte[]> heap = new ArrayList<>();
		for (int i = 0; i < 150; i++) {
			ByteBuffer d = ByteBuffer.allocateDirect(100000 + 10000 * (i % 20));
			d.put(blob(seed + i, d.capacity()));
			direct.add(d);
			heap.add(blob(seed - i, 200000));
			if (direct.size() > 10) {
				direct.remove(i % 9);
				heap.remove(i % 9);
			}
			if (i % 50 == 0)
				System.gc();
		}
		String all = "";
		for (int i = 0; i < direct.size(); i++)
			all += digest(direct.get(i).flip()) + digest(ByteBuffer.wrap(heap.get(i)));
		return digest(ByteBuffer.wrap(all.getBytes()));
	}

	static String mapped() throws Exception {
		Path p = Files.createTempFile("ruse", "work");
		Files.write(p, blob(7, 3 << 20));
		try (RandomAccessFile f = new RandomAccessFile(p.toFile(), "rw")) {
			MappedByteBuffer rw = f.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 3 << 20);
			MappedByteBuffer own = f.getChannel().map(FileChannel.MapMode.PRIVATE, 0, 3 << 20);
			rw.put(100000, (byte)1);
			own.put(5, (byte)2);
			ByteBuffer read = ByteBuffer.allocateDirect(3 << 20);
			while (read.hasRemaining() && f.getChannel().read(read) > 0)
				;
			return digest(rw) + " " + digest(own) + " " + digest(read.flip());
		} finally {
			Files.delete(p);
		}
	}

	static String child() throws Exception {
		Process p = new ProcessBuilder("cksum").start();
		p.getOutputStream().write(blob(3, 2000000));
		p.getOutputStream().close();
		String said = new String(p.getInputStream().readAllBytes());
		return p.waitFor() + " " + said.trim();
	}

	public static void main(String[] args) throws Exception {
		String[] out = new String[4];
		Thread[] threads = new Thread[4];
		for (int i = 0; i < 4; i++) {
			int k = i;
			threads[i] = new Thread(() -> {
				try {
					out[k] = churn(1000L * k);
				} catch (Exception e) {
					out[k] = e.toString();
				}
			});
			threads[i].start();
		}
		for (int i = 0; i < 5; i++)
			System.out.println("child " + child());
		for (int i = 0; i < 4; i++) {
			threads[i].join();
			System.out.println("thread " + out[i]);
		}
		System.out.println("mapped " + mapped());
		long n = Files.lines(Path.of("/proc/self/maps")).filter(l -> l.contains("/memfd:ruse-memory")).count();
		System.err.println("ruse-memory " + n);
	}
}
